# Python code that the probe runs. Each file becomes a text in C++: profiler/observe/python_hooks.py becomes
# tapelens::observe::kPythonHooks in profiler/observe/python_hooks.py.h.
include(${CMAKE_CURRENT_LIST_DIR}/../cmake/TextHeader.cmake)
set(TAPELENS_PYTHON_TEXTS
  profiler/observe/python_hooks.py
  profiler/observe/compiled_graphs.py
  profiler/observe/attached.py
  profiler/record/float64.py
  profiler/record/activation_budget.py
  profiler/record/referrers.py
)

# tapelens_python_texts(FROM TO FOLDER...): those of the folders, from the sources in FROM, below TO.
function(tapelens_python_texts from to)
  foreach(_file IN LISTS TAPELENS_PYTHON_TEXTS)
    get_filename_component(_folder ${_file} DIRECTORY)
    list(FIND ARGN ${_folder} _place)
    if(_place EQUAL -1)
      continue()
    endif()
    get_filename_component(_namespace ${_folder} NAME)
    get_filename_component(_stem ${_file} NAME_WE)
    string(REPLACE "_" ";" _words ${_stem})
    set(_name k)
    foreach(_word IN LISTS _words)
      string(SUBSTRING ${_word} 0 1 _first)
      string(SUBSTRING ${_word} 1 -1 _rest)
      string(TOUPPER ${_first} _first)
      string(APPEND _name ${_first}${_rest})
    endforeach()
    if(NOT CMAKE_SCRIPT_MODE_FILE)
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${from}/${_file})
    endif()
    tapelens_text_header(${from}/${_file} ${to}/${_file}.h tapelens::${_namespace} ${_name})
  endforeach()
endfunction()
