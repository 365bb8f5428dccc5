set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
foreach(Language IN ITEMS C CXX)
    set(CMAKE_${Language}_COMPILER clang-19)
    set(CMAKE_${Language}_COMPILER_TARGET x86_64-w64-mingw32)
endforeach()
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)

# With -finstrument-functions C++ needs a part of libgcc, which is not on a
# Windows machine.
foreach(Kind IN ITEMS EXE SHARED)
    set(CMAKE_${Kind}_LINKER_FLAGS_INIT -static)
endforeach()
