set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)

# With -finstrument-functions C++ needs a part of libgcc, which is not on a
# Windows machine.
foreach(Kind IN ITEMS EXE SHARED)
    set(CMAKE_${Kind}_LINKER_FLAGS_INIT -static)
endforeach()
