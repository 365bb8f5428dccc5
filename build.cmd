@echo off
rem
rem build [test | demo | package]
rem
rem Builds Tracer.sln, Release and Debug, with the newest Visual Studio 2022
rem and NASM.  NASM_EXE names nasm.exe if it is not in the path.
rem
rem     test    then runs the test programs and adds up their results
rem     demo    then compiles a sample with /Gh /GH, traces it and reports
rem     package then makes the zip and the NuGet package, in x64\Package; needs
rem             Python 3
rem
rem The viewer's page is made on Linux (make viewer): x64\Viewer has it from
rem there, or TraceReader is built without it, and says so.
rem

setlocal EnableExtensions EnableDelayedExpansion
cd /d "%~dp0"

set "Target=%~1"
if "%Target%"=="" goto Start
if /i "%Target%"=="test" goto Start
if /i "%Target%"=="demo" goto Start
if /i "%Target%"=="package" goto Start
echo usage: build, build test, build demo or build package
exit /b 2

:Start
call :Build
if errorlevel 1 exit /b 1
if /i "%Target%"=="test" call :Test
if /i "%Target%"=="demo" call :Demo
if /i "%Target%"=="package" call :Package
exit /b %ErrorLevel%

rem ---------------------------------------------------------------------------

:Build
if not defined NASM_EXE (
    where nasm >nul 2>&1
    if errorlevel 1 (
        if exist "!ProgramFiles!\NASM\nasm.exe" (
            set "NASM_EXE=!ProgramFiles!\NASM\nasm.exe"
        ) else (
            echo build: finding NASM: nasm.exe: not in the path; set NASM_EXE
            exit /b 1
        )
    )
)

if "%VSCMD_ARG_TGT_ARCH%"=="x64" goto Ready

set "VsWhere=%ProgramFiles(x86)%\Microsoft Visual Studio\Installer\vswhere.exe"
if not exist "%VsWhere%" (
    echo build: finding Visual Studio: "%VsWhere%": not found
    exit /b 1
)
set "Studio="
for /f "usebackq delims=" %%i in (`"%VsWhere%" -latest -products * -requires Microsoft.VisualStudio.Component.VC.Tools.x86.x64 -property installationPath`) do set "Studio=%%i"
if not defined Studio (
    echo build: finding Visual Studio: the x64 C compiler is not installed
    exit /b 1
)
call "%Studio%\VC\Auxiliary\Build\vcvars64.bat" >nul
if errorlevel 1 (
    echo build: "%Studio%\VC\Auxiliary\Build\vcvars64.bat": failed
    exit /b 1
)

:Ready
for %%c in (Release Debug) do (
    msbuild Tracer.sln /nologo /m /v:minimal /p:Configuration=%%c /p:Platform=x64
    if errorlevel 1 (
        echo build: msbuild Tracer.sln: %%c: failed
        exit /b 1
    )
    if exist x64\Viewer\TraceViewer.html copy /y x64\Viewer\TraceViewer.html x64\%%c\ >nul
)
exit /b 0

rem ---------------------------------------------------------------------------

:Test
set /a Passed=0
set /a Failed=0
set /a Skipped=0
set "TRACER_ROOT=%CD%"
set "TRACER_ROOT_WINDOWS=%CD%"
set "TRACER_QUICK="
for %%c in (Release Debug) do (
    set "TRACER_CONFIGURATION=%%c"
    set "TRACER_BIN=!TRACER_ROOT!\x64\%%c"
    for %%t in (Tests\Unit\Test*.c Tests\Penter\Test*.c) do (
        set "Name=%%~nt"
        set "IsTest=1"
        if /i "!Name:~-7!"=="Support" set "IsTest="
        if defined IsTest call :RunTest
    )
    set "TRACER_QUICK=1"
)
set "Sum=%Passed% passed, %Failed% failed"
if not %Skipped%==0 set "Sum=%Sum%, %Skipped% skipped"
echo %Sum%
if not %Failed%==0 exit /b 1
if %Passed%==0 exit /b 1
exit /b 0

:RunTest
set "TRACER_TEMP=%TRACER_BIN%\Temp\%Name%"
set "Log=%TRACER_BIN%\Temp\%Name%.log"
if exist "%TRACER_TEMP%" rd /s /q "%TRACER_TEMP%"
md "%TRACER_TEMP%"
pushd "%TRACER_TEMP%"
"%TRACER_BIN%\%Name%.exe" >"%Log%" 2>&1 <nul
set "Code=%ErrorLevel%"
popd
set "P="
set "F=0"
set "S=0"
for /f "usebackq tokens=1-6 delims=, " %%a in ("%Log%") do (
    if "%%b"=="passed" if "%%d"=="failed" (
        set "P=%%a"
        set "F=%%c"
        set "S=%%e"
    )
)
if not defined S set "S=0"
set "Reason="
if not defined P (
    set "P=0"
    set "Reason=no closing line"
)
if not "%Code%"=="0" if "%F%"=="0" set "Reason=exit code %Code%"
if defined Reason set /a F+=1
set /a Passed+=P
set /a Failed+=F
set /a Skipped+=S
echo %TRACER_CONFIGURATION%  %Name%: %P% passed, %F% failed %Reason%
if not "%F%"=="0" type "%Log%"
exit /b 0

rem ---------------------------------------------------------------------------

:Package
set "Python=python"
where python >nul 2>&1
if errorlevel 1 set "Python=py -3"
%Python% Build\Package.py x64\Release x64\Package
if errorlevel 1 (
    echo build: Build\Package.py: failed
    exit /b 1
)
exit /b 0

rem ---------------------------------------------------------------------------

:Demo
set "Bin=%CD%\x64\Release"
set "Demo=%CD%\x64\Demo"
if exist "%Demo%" rd /s /q "%Demo%"
md "%Demo%\Traces"

rem
rem /Gh and /GH make the compiler call _penter and _pexit, which the library
rem has; nothing in the source changes.
rem

cl /nologo /O2 /Gh /GH /Zi /Fo"%Demo%\\" /Fd"%Demo%\\" /Fe"%Demo%\Sample.exe" Tests\Programs\Sample.c /link /incremental:no /debug "%Bin%\TracerPenter.lib" kernel32.lib /include:_tls_used
if errorlevel 1 (
    echo build: compiling Tests\Programs\Sample.c: failed
    exit /b 1
)

set "TRACER_DIRECTORY=%Demo%\Traces"
"%Demo%\Sample.exe"
if errorlevel 1 (
    echo build: running "%Demo%\Sample.exe": exit code %ErrorLevel%
    exit /b 1
)
set "TRACER_DIRECTORY="

set "Session="
for /d %%d in ("%Demo%\Traces\*") do set "Session=%%d"
if not defined Session (
    echo build: no session in "%Demo%\Traces"
    exit /b 1
)
"%Bin%\TraceReader.exe" info "%Session%"
if errorlevel 1 exit /b 1
"%Bin%\TraceReader.exe" report "%Session%"
exit /b %ErrorLevel%
