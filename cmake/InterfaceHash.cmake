# cmake -DROOT=FOLDER -DHEADERS=FILE,FILE... -DOUTPUT=FILE -P InterfaceHash.cmake
# Writes a hash of the text of headers as a constant of C++. Any change of a member, of its order, of an inline function or
# of an enumerator changes the hash; comments and white space do not.
string(REPLACE "," ";" HEADERS "${HEADERS}")
set(_all "")
foreach(_header IN LISTS HEADERS)
  file(READ ${ROOT}/${_header} _text)
  string(REGEX REPLACE "//[^\n]*" "" _text "${_text}")
  string(REGEX REPLACE "[ \t\n]+" " " _text "${_text}")
  string(APPEND _all "${_header}\n${_text}\n")
endforeach()
string(SHA256 _hash "${_all}")
string(SUBSTRING ${_hash} 0 16 _hash)
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT
     "// Generated from the headers of checks; not to be edited.\n#pragma once\n#include <cstdint>\nnamespace tapelens::check {\ninline constexpr uint64_t kInterfaceHash = 0x${_hash}ULL;\n}\n")
