# clang-cl and lld-link without Microsoft's SDK.  PACKAGE_TOOLS in the
# environment is a folder with clang-cl, which is clang under another name, and
# with kernel32.lib.

set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
foreach(Language IN ITEMS C CXX)
    set(CMAKE_${Language}_COMPILER "$ENV{PACKAGE_TOOLS}/clang-cl")
    set(CMAKE_${Language}_COMPILER_TARGET x86_64-pc-windows-msvc)
    set(CMAKE_${Language}_FLAGS_INIT "/Zl /GS-")
    set(CMAKE_${Language}_STANDARD_LIBRARIES kernel32.lib CACHE STRING "")
endforeach()
set(CMAKE_LINKER lld-link-19)
set(CMAKE_AR llvm-lib-19)
set(CMAKE_RC_COMPILER llvm-rc-19)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
foreach(Kind IN ITEMS EXE SHARED)
    set(CMAKE_${Kind}_LINKER_FLAGS_INIT
        "/nodefaultlib /manifest:no /entry:Start \"/libpath:$ENV{PACKAGE_TOOLS}\"")
endforeach()
