#
# The build on Linux: clang-cl, NASM and lld-link make the Windows programs
# and libraries, and Wine runs them.  Tracer.sln is the same build for Visual
# Studio; Build/CheckProjects.py keeps the two alike.
#
#     make            everything, Release and Debug, in x64/
#     make demo       traces Lua and shows the report
#     make test       runs the tests
#     make test-long  runs those that take long
#     make test-compact  runs them with compact stores
#     make test LONG=1    runs all of them, once
#     make test LONG=each    all of them, once, each in its short form
#     make check      checks the products and the sources
#     make viewer     the viewer's page, in x64/Viewer
#     make package    makes the zip and the NuGet package, in x64/Package
#     make bench      runs the benchmarks
#     make bench-peers    compares with other function tracers (Linux)
#     make docs       writes what documents have from the program's rows
#     make projects   writes Tracer.sln and the .vcxproj files anew
#     make clean      removes x64/
#     make help       lists these
#
# Sources are found by wildcard: a new file needs no change here, and in Reader
# no new room, which is a folder of its own.
#

SHELL = /bin/bash
MAKEFLAGS += --no-builtin-rules --no-builtin-variables
.SUFFIXES:
.DELETE_ON_ERROR:

Out = x64
Configurations = Release Debug

#
# Build/Setup.sh installs what is missing, so nothing may run a tool before
# it: every object waits for it.  SETUP=true leaves it out.
#

SETUP ?= Build/Setup.sh

Clang = clang-19 --driver-mode=cl --target=x86_64-pc-windows-msvc
Lib = llvm-lib-19
Link = lld-link-19
Resource = llvm-rc-19
Nasm = nasm
MingwHeaders = /usr/share/mingw-w64/include

#
# The order matters: both libraries have __C_specific_handler, and ntdll's is
# the one that is not a forwarder.
#

ImportLibraries = \
    /usr/x86_64-w64-mingw32/lib/libntdll.a \
    /usr/x86_64-w64-mingw32/lib/libkernel32.a

#
# mingw-w64's headers blank __attribute__ for compilers that do not say they
# are GNU C 4.2 or later, and then clang's own headers fail.
#
# The group after that leaves out what windows.h would have the compiler read
# for nothing in each source: windows, pictures, and through <x86intrin.h> the
# intrinsics up to AVX-512, two thirds of all.  A source that uses intrinsics
# includes <immintrin.h> itself.
#
# The last group keeps folders, command lines and times out of the objects, so
# that a build gives the same bytes wherever it is made.
#

CompilerFlags = \
    /nologo /c /std:c11 /Z7 /W4 /WX /GS- /Gy /GF- /Zl /Oi- -fno-builtin \
    -Wno-unused-command-line-argument \
    -imsvc $(MingwHeaders) \
    -D__GNUC__=4 -D__GNUC_MINOR__=2 -D__GNUC_PATCHLEVEL__=1 \
    -D__X86INTRIN_H -DNOGDI -DNOUSER \
    -Wno-builtin-macro-redefined \
    /Brepro -Werror=date-time -gno-codeview-command-line \
    -fdebug-compilation-dir=. -no-canonical-prefixes

CompilerFlags.Release = /O2
CompilerFlags.Debug = /Od /DTRACER_DEBUG=1

#
# The library runs on the stacks of threads that it knows nothing about, so
# the compiler keeps the frames of a Release build small.
#

FrameLimit = -Wframe-larger-than=2048
FolderFlags.Release.Rtl = $(FrameLimit)
FolderFlags.Release.StringTable = $(FrameLimit)
FolderFlags.Release.Codec = $(FrameLimit)
FolderFlags.Release.TraceStore = $(FrameLimit)
FolderFlags.Release.Penter = $(FrameLimit)
FolderFlags.Release.Imports = $(FrameLimit)
FolderFlags.Release.Reader = $(FrameLimit)
FolderFlags.Release.Sqlite = $(FrameLimit)
FolderFlags.Release.Kernel = $(FrameLimit)
FolderFlags.Release.Debugger = $(FrameLimit)

#
# Without optimization the searches need a C runtime: clang-cl passes vectors
# through memory, and probes the stack for them.
#

FolderFlags.Debug.StringTable = /O2

#
# NASM writes the absolute path of a source into CodeView line numbers, so
# only Debug has them.
#

AssemblerFlags = -f win64 -Werror --reproducible
AssemblerFlags.Release =
AssemblerFlags.Debug = -g -F cv8 -DTRACER_DEBUG=1

LinkerFlags = \
    /nologo /WX /nodefaultlib /entry:mainCRTStartup /subsystem:console \
    /machine:x64 /incremental:no /brepro /debug \
    /pdbaltpath:%_PDB% /pdbsourcepath:.

LinkerFlags.Release = /opt:ref /opt:icf
LinkerFlags.Debug = /opt:noref /opt:noicf

#
# The folders with sources, and where each one's headers may come from.
#

Folders = Rtl Asm StringTable Codec TraceStore Penter Imports Reader Sqlite \
    Debugger Kernel Tests

Includes.Rtl = Rtl
Includes.Asm = Asm Rtl
Includes.StringTable = StringTable Rtl Asm
Includes.Codec = Codec Rtl
Includes.TraceStore = TraceStore Codec Rtl Asm
Includes.Penter = Penter TraceStore StringTable Codec Rtl Asm
Includes.Imports = Imports Penter TraceStore StringTable Codec Rtl Asm
Includes.Reader = Reader StringTable Codec TraceStore Rtl
Includes.Sqlite = Sqlite Reader StringTable Codec TraceStore Rtl
Includes.Kernel = Kernel TraceStore Rtl Asm
Includes.Debugger = Debugger Reader StringTable Codec TraceStore Rtl
Includes.Tests = Tests/Library Reader Penter TraceStore StringTable Codec Rtl Asm

$(foreach F,$(Folders),\
    $(eval Sources.$F := $(sort $(wildcard $F/*.c $F/*.asm))))
Sources.Tests := $(sort $(foreach R,Library Unit Penter,\
    $(wildcard Tests/$R/*.c Tests/$R/*.asm Tests/$R/Test*/*.c)))
Sources.Reader := $(sort $(wildcard Reader/*/*.c Reader/*/*.asm))
Resources.Reader := $(sort $(wildcard Reader/*.rc))

#
# Every Test*.c in Tests/Unit and Tests/Penter is a program; a folder of the
# same name beside it has its further sources, one for each topic.  TestMain.c
# is linked into each program, and what else is there (assembly, shared helpers
# named *Support.c) is a library for them.
#

TestPrograms := $(filter-out %Support.c,\
    $(sort $(wildcard Tests/Unit/Test*.c Tests/Penter/Test*.c)))
TestParts = $(filter $(basename $1)/%,$(Sources.Tests))
TestMain := $(filter Tests/Library/TestMain.c,$(Sources.Tests))

PenterNullSources := $(filter Penter/PenterNull.%,$(Sources.Penter))
PenterSources := $(filter-out $(PenterNullSources),$(Sources.Penter))

#
# What is for programs only, and must not reach a user's program through
# TracerPenter.lib: the stand-ins for memcpy and its kin, the entry point, the
# stack probe, and what no part of the library calls.
#

ProgramOnlySources = Rtl/RtlCrt.c Rtl/RtlStart.c Asm/ChkStk.asm \
    Asm/CopyPages.asm Asm/CopyPages.c Asm/FillPages.asm Asm/FillPages.c

#
# What of the codec the library needs: it encodes, and decodes nothing.
#

EncoderSources = $(filter %Block.c %Encode.c,$(Sources.Codec))

#
# The projects: $(call Project,NAME,KIND,FOLDER,SOURCES,LIBRARIES).  One
# without sources is left out.  Visual Studio's projects are written from this
# table (make projects).
#

define Project
Projects += $(if $(strip $4),$1)
Kind.$1 := $2
Folder.$1 := $3
ProjectSources.$1 := $(strip $4)
ProjectLibraries.$1 = $(filter $(Projects),$5)
endef
AddProject = $(eval $(Project))

$(call AddProject,Rtl,Library,Rtl,$(Sources.Rtl))
$(call AddProject,Asm,Library,Asm,$(Sources.Asm))
$(call AddProject,StringTable,Library,StringTable,$(Sources.StringTable))
$(call AddProject,Codec,Library,Codec,$(Sources.Codec))
$(call AddProject,TraceStore,Library,TraceStore,$(Sources.TraceStore))
$(call AddProject,TracerPenter,Library,Penter,$(filter-out \
    $(ProgramOnlySources),$(PenterSources) $(Sources.TraceStore) \
    $(EncoderSources) $(Sources.StringTable) $(Sources.Asm) $(Sources.Rtl)))
$(call AddProject,TracerPenterNull,Library,Penter,$(PenterNullSources))

#
# For drivers, and of nothing but its own sources.
#

$(call AddProject,TracerPenterKernel,Library,Kernel,$(Sources.Kernel))

#
# A DLL of its own: the hooks are linked into it.
#

Entry.TracerImports = ImportsMain
$(call AddProject,TracerImports,Dynamic,Imports,$(Sources.Imports),\
    TracerPenter Asm Rtl)

#
# Asm has the stack probe, which StringTable's kernels call in Debug.
#

$(call AddProject,TraceReader,Program,Reader,$(Sources.Reader) \
    $(Resources.Reader),StringTable Codec Asm Rtl)

#
# An extension of SQLite is another DLL, with what it needs of the reader.
#

Entry.TracerSqlite = SqliteEntry
$(call AddProject,Reader,Library,Reader,$(Sources.Reader))
$(call AddProject,TracerSqlite,Dynamic,Sqlite,$(Sources.Sqlite),Reader \
    StringTable Codec Asm Rtl)

#
# An extension of WinDbg is a third one.
#

Entry.TracerKd = KdEntry
$(call AddProject,TracerKd,Dynamic,Debugger,$(Sources.Debugger),Reader \
    StringTable Codec Asm Rtl)
Products := $(strip $(Projects))

$(call AddProject,TestSupport,Library,Tests,\
    $(filter-out $(TestPrograms) $(TestMain) \
    $(foreach T,$(TestPrograms),$(call TestParts,$T)),$(Sources.Tests)))

AllLibraries = Reader TracerPenter TraceStore StringTable Codec Asm Rtl

#
# The library for drivers has hooks of the same names.
#

LibrariesOf.TestKernel = TracerPenterKernel

$(foreach T,$(TestPrograms),$(call AddProject,$(basename $(notdir \
    $T)),Program,Tests,$T $(call TestParts,$T) $(TestMain),\
    $(LibrariesOf.$(basename $(notdir $T))) TestSupport $(AllLibraries)))

.PHONY: all release debug products viewer demo test test-long test-compact check
.PHONY: bench bench-peers docs package projects describe syntax clean setup help FORCE

all: release debug

#
# The list at the beginning of this file.
#

help:
	@sed -n 's/^#     \(make\b.*\)/\1/p' Makefile

setup:
	@$(SETUP)

#
# A library depends on its list of members, so that it is made again when a
# source goes away.  $(call MemberList,FILE,OBJECTS)
#

define MemberList
$1: $(if $(filter-out $(file <$1),$2)$(filter-out $2,$(file <$1)),FORCE)
	@mkdir -p $$(@D)
	@printf '%s\n' '$2' >$$@
endef

# $(call Objects,CONFIGURATION,SOURCES)
Objects = $(patsubst %.c,$(Out)/$1/obj/%.obj,$(patsubst \
    %.asm,$(Out)/$1/obj/%.asm.obj,$(patsubst \
    %.rc,$(Out)/$1/obj/%.res,$2)))

#
# The rules of a project's kind: $(call KIND,CONFIGURATION,NAME,OBJECTS,
# LIBRARIES).
#

define Library
$(call MemberList,$(Out)/$1/obj/$2.members,$3)
$(Out)/$1/$2.lib: $3 $(Out)/$1/obj/$2.members
	@echo "LIB     $$@"
	@rm -f $$@
	@$$(Lib) /nologo /machine:x64 /out:$$@ $3
endef

define Program
$(call MemberList,$(Out)/$1/obj/$2.members,$3 $4)
$(Out)/$1/$2.exe: $3 $4 $(Out)/$1/obj/$2.members
	@echo "LINK    $$@"
	@$$(Link) $$(LinkerFlags) $$(LinkerFlags.$1) /out:$$@ $3 $4 \
	    $$(ImportLibraries)
endef

define Dynamic
$(call MemberList,$(Out)/$1/obj/$2.members,$3 $4)
$(Out)/$1/$2.dll: $3 $4 $(Out)/$1/obj/$2.members
	@echo "LINK    $$@"
	@$$(Link) $$(filter-out /entry:%,$$(LinkerFlags)) $$(LinkerFlags.$1) \
	    /dll /noimplib /entry:$(Entry.$2) /out:$$@ $3 $4 $$(ImportLibraries)
endef

#
# The rules of one folder.  A source's language stays in the object's name, so
# that Foo.c and Foo.asm may stand side by side.  NASM's own list of what a
# source includes leaves out what it found through -I, so every .inc counts,
# and every part of the page of TraceReader's HTML export.
#

AssemblerIncludes := $(sort \
    $(wildcard $(addsuffix /*.inc,$(Folders)) Reader/Export/Html/*))

define FolderRules
$(Out)/$1/obj/$2/%.obj: $2/%.c Makefile | setup
	@mkdir -p $$(@D)
	@echo "CC      $$@"
	@$$(Clang) $$(CompilerFlags) $$(CompilerFlags.$1) $$(FolderFlags.$1.$2) \
	    $$(addprefix -I,$$(Includes.$2)) \
	    /clang:-MMD /clang:-MP /clang:-MF$$(@:.obj=.d) $$< /Fo$$@

$(Out)/$1/obj/$2/%.asm.obj: $2/%.asm $(AssemblerIncludes) Makefile | setup
	@mkdir -p $$(@D)
	@echo "ASM     $$@"
	@$$(Nasm) $$(AssemblerFlags) $$(AssemblerFlags.$1) \
	    $$(patsubst %,-I%/,$$(Includes.$2)) -I$(Out)/Viewer/ $$< -o $$@

$(Out)/$1/obj/$2/%.res: $2/%.rc Rtl/RtlVersion.h Makefile | setup
	@mkdir -p $$(@D)
	@echo "RC      $$@"
	@$$(Resource) /I Rtl /fo $$@ $$<

Objects.$1.$2 := $(call Objects,$1,$(Sources.$2))
-include $$(patsubst %.obj,%.d,$$(filter-out %.asm.obj,$$(Objects.$1.$2)))
endef

# $(call Outputs,CONFIGURATION,PROJECTS)
Suffix.Library = lib
Suffix.Program = exe
Suffix.Dynamic = dll
Outputs = $(foreach P,$2,$(Out)/$1/$P.$(Suffix.$(Kind.$P)))

define ConfigurationRules
$(foreach F,$(Folders),$(eval $(call FolderRules,$1,$F)))
$(foreach P,$(Projects),$(eval $(call $(Kind.$P),$1,$P,$(strip \
    $(call Objects,$1,$(ProjectSources.$P))),$(strip \
    $(call Outputs,$1,$(ProjectLibraries.$P))))))
endef

$(foreach C,$(Configurations),$(eval $(call ConfigurationRules,$C)))

#
# The viewer's engine: the reader as WebAssembly, from the same sources.  What
# asks Windows is left out (Reader/View/Wasm stands in for it), and the linker
# takes only what the engine calls.  The types of Windows are those of the
# native builds of the fuzzers.
#

Wasm = $(Out)/Viewer
WasmCompiler = clang-19 --target=wasm32
WasmFlags = \
    -std=c11 -O2 -ffreestanding -fshort-wchar -mbulk-memory \
    -DREADER_WINDOW_SIZE=0x20000ULL \
    -DREADER_FIRST_WINDOW_SIZE=0x10000ULL -DREADER_PIECE_SIZE=0x100000u \
    -include Rtl/RtlPortable.h -idirafter $(MingwHeaders) \
    -Wall -Wextra -Werror -ffile-prefix-map=$(CURDIR)/= \
    $(addprefix -I,$(Includes.Reader))
WasmLinkerFlags = \
    --no-entry --gc-sections --strip-all -O2 --stack-first \
    -z stack-size=1048576

WasmEntries := $(sort $(wildcard Reader/View/Wasm/*.c))
WasmLibrary := $(filter-out \
    Reader/Start/% Reader/Commands/% Reader/Export/% Reader/Live/% \
    Reader/Sql/% Reader/Collect/% \
    %/SymbolDbgHelp.c %/BaseAttach.c %/BaseBrowser.c \
    %/OutputKey.c %/OutputPager.c %/OutputPagerProgram.c,\
    $(filter %.c,$(Sources.Reader))) \
    $(Sources.Codec) \
    $(addprefix StringTable/StringTable,.c Build.c Scalar.c Trie.c) \
    $(addprefix Rtl/Rtl,Allocator.c Clock.c Decode.c File.c Path.c \
    Security.c Status.c String.c Writer.c)
WasmObjects = $(patsubst %.c,$(Wasm)/obj/%.o,$1)

$(Wasm)/obj/%.o: %.c Makefile | setup
	@mkdir -p $(@D)
	@echo "WASM    $@"
	@$(WasmCompiler) $(WasmFlags) -MMD -MP -c $< -o $@

-include $(patsubst %.o,%.d,$(call WasmObjects,$(WasmEntries) $(WasmLibrary)))

$(Wasm)/Reader.a: $(call WasmObjects,$(WasmLibrary))
	@rm -f $@
	@llvm-ar-19 rcsD $@ $^

$(Wasm)/Viewer.wasm: $(call WasmObjects,$(WasmEntries)) $(Wasm)/Reader.a
	@echo "LINK    $@"
	@wasm-ld-19 $(WasmLinkerFlags) $^ -o $@

#
# The viewer's page, which TraceReader has in it, too.
#

Viewer = $(Wasm)/TraceViewer.html

$(Viewer): Build/MakeViewer.py $(wildcard Reader/View/Page/*) \
    $(Wasm)/Viewer.wasm | setup
	@echo "PAGE    $@"
	@python3 Build/MakeViewer.py --wasm $(Wasm)/Viewer.wasm \
	    --parts $(Wasm) $@

define ViewerRules
$(Out)/$1/obj/Reader/Export/ExportViewPage.asm.obj: $(Viewer)
$(Out)/$1/TraceViewer.html: $(Viewer)
	@mkdir -p $$(@D)
	@cp $$< $$@
endef

$(foreach C,$(Configurations),$(eval $(call ViewerRules,$C)))

viewer: $(Viewer)

products: $(call Outputs,Release,$(Products)) $(Out)/Release/TraceViewer.html
release: $(call Outputs,Release,$(Projects)) $(Out)/Release/TraceViewer.html
debug: $(call Outputs,Debug,$(Projects)) $(Out)/Debug/TraceViewer.html

demo: products
	@Build/Demo.sh

test: all
	@Tests/RunTests.sh $(if $(LONG),$(if $(filter each,$(LONG)),--each,--all)) $(Out)/Release $(Out)/Debug

test-long: all
	@Tests/RunTests.sh --long $(Out)/Release

#
# Everything that tests record goes into compact stores, and every session that
# they make through pack and unpack.
#

test-compact: all
	@TEST_MODE=compact TEST_ROUND_TRIP=1 Tests/RunTests.sh --all $(Out)/Release

check: all
	@Build/Check.sh

docs: products
	@Build/WriteDocs.py $(Out)/Release/TraceReader.exe

#
# TRACER_RELEASE_URL is where the zip will be (Build/Package.py).
#

package: products
	@python3 Build/Package.py $(Out)/Release $(Out)/Package

#
# ROUNDS=N sets how often everything is run.  PERFORMANCE=FILE also puts the
# tables of what the hooks cost into FILE; Docs/figures/Hooks.md has a place
# for them.
#

bench: release
	@set -e; for Script in Benchmarks/*.sh; do \
	    TRACER_ROOT=$(CURDIR) TRACER_BIN=$(CURDIR)/$(Out)/Release \
	    TRACER_WINE=$(CURDIR)/Build/RunWine.sh $$Script; done

#
# Installs other function tracers and compares them with ours; PEERS has the
# options of Benchmarks/Peers/BenchPeers.py.
#

bench-peers: products
	@TRACER_ROOT=$(CURDIR) TRACER_BIN=$(CURDIR)/$(Out)/Release \
	    TRACER_WINE=$(CURDIR)/Build/RunWine.sh \
	    Benchmarks/Peers/BenchPeers.sh $(PEERS)

#
# What is built from what, for the checkers and for the writer of the Visual
# Studio projects: one line each for a project (its kind, name, folder,
# sources, where headers come from) and for what it links, in order.
#

describe:
	@$(foreach C,$(Configurations),echo 'define $C \
	    $(patsubst /D%,%,$(filter /D%,$(CompilerFlags.$C)))';)
	@$(foreach P,$(Projects),\
	    echo 'project $(Kind.$P) $P $(Folder.$P)';\
	    echo 'source $P $(ProjectSources.$P)';\
	    echo 'include $P $(Includes.$(Folder.$P))';\
	    echo 'link $P $(ProjectLibraries.$P)';\
	    $(if $(Entry.$P),echo 'entry $P $(Entry.$P)';))

#
# Only checks that FILES compile, with the flags of FOLDER.
#

syntax: | setup
	@$(Clang) $(filter-out /c,$(CompilerFlags)) $(CompilerFlags.Release) \
	    $(addprefix -I,$(Includes.$(FOLDER))) /Zs $(FILES)

projects: | setup
	@python3 Build/GenerateProjects.py

clean:
	@[ ! -d $(Out)/Wine ] || Build/RunWine.sh --server -k 2>/dev/null || true
	@rm -rf $(Out)
