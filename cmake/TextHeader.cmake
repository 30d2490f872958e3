# tapelens_text_header(FILE HEADER NAMESPACE NAME): the text of a file as a constant of C++.
function(tapelens_text_header file header namespace name)
  file(READ ${file} _text)
  get_filename_component(_from ${file} NAME)
  file(CONFIGURE OUTPUT ${header} @ONLY CONTENT
       "// Generated from ${_from}; not to be edited.\n#pragma once\nnamespace ${namespace} {\ninline constexpr char ${name}[] = R\"PYTHON(${_text})PYTHON\";\n}\n")
endfunction()
