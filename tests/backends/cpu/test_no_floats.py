"""No floating-point arithmetic in the native library as it was built and installed, in any of its functions."""

import re
import shutil
import subprocess

import pytest

from exactla_backends.cpu.native import library

# Families of x86 mnemonics, without the v of the VEX and EVEX forms. Moves, logic, shuffles, blends, broadcasts and
# conversions are not here: compilers use them on integers, and they compute nothing.
_TYPE = r"[ps](?:[sdh]|bf16)"
X86 = {
    "arithmetic": rf"(?:add|sub|mul|div|sqrt|min|max|minmax|addsub|hadd|hsub|dp){_TYPE}",
    "fused": rf"f(?:n?madd|n?msub|maddsub|msubadd|c?maddc|c?mulc)(?:132|213|231)?{_TYPE}",
    "comparison": rf"(?:cmp[a-z_]*{_TYPE}|u?comi(?:s[sdh]|sbf16)|fpclass{_TYPE}[xyz]?)",
    "approximation": rf"(?:rcp|rsqrt)(?:14|28)?{_TYPE}|exp2{_TYPE}",
    "rounding": rf"(?:round|rndscale|reduce|range|scalef|fixupimm|getexp|getmant){_TYPE}",
    "dot products": r"t?dp(?:bf16|fp16|ph|[bh]f8)ps|tcmm(?:imm|rl)fp16ps|4fn?madd[ps]s",
    "x87": r"f(?:i?(?:add|sub|subr|mul|div|divr|com|comp)[lsp]?|u?compp?|u?comi?p?|comi|sqrt|prem1?|rndint|scale|"
    r"sin|cos|sincos|ptan|patan|yl2xp?1?|2xm1|xtract|abs|chs|tst|xam)",
}
ARM = {
    "arithmetic": r"f(?:add|sub|mul|mulx|div|sqrt|abs|abd|neg|nmul|min|max|minnm|maxnm)[pv]?",
    "fused": r"f(?:n?m(?:add|sub)|ml[as]l?2?|cmla|cadd)",
    "comparison": r"f(?:ccmpe?|cmpe?|cm(?:eq|ge|gt|le|lt)|ac(?:ge|gt))",
    "approximation": r"f(?:recp[esx]|rsqrt[es])",
    "rounding": r"frint\w*",
    "dot products": r"bf(?:dot|mmla|mlal[bt])|fmmla",
}
FAMILIES = {"x86-64": X86, "aarch64": ARM}
_LINE = re.compile(r"^\s*[0-9a-f]+:\s+(?:(?:lock|rep[nz]*|notrack|data16|bnd|cs|\{\w+\}) )*([a-z]\S*)(.*)$")


def floating_instructions(listing: str, families: dict[str, str]) -> list[tuple[str, str]]:
    """Family and text of each instruction of the listing that computes with floats."""
    patterns = {family: re.compile(f"v?(?:{pattern})") for family, pattern in families.items()}
    found = []
    for line in listing.splitlines():
        if instruction := _LINE.match(line):
            for family, pattern in patterns.items():
                if pattern.fullmatch(instruction[1]):
                    found.append((family, line.strip()))
                    break
    return found


def test_native_library():
    path = library.path()
    if path is None:
        pytest.skip("disassembly of the native library NOT EXERCISED: exactla was installed without it")
    if shutil.which("objdump") is None:
        pytest.skip("disassembly of the native library NOT EXERCISED: no objdump, apt-get install binutils")
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", str(path)], check=True, capture_output=True, text=True
    ).stdout
    architecture = re.search(r"file format elf64-(?:little)?(x86-64|aarch64)", listing)
    if architecture is None:
        pytest.skip("disassembly of the native library NOT EXERCISED: mnemonics of this architecture are not listed")
    assert sum(_LINE.match(line) is not None for line in listing.splitlines()) > 10_000
    assert floating_instructions(listing, FAMILIES[architecture[1]]) == []


BAD = {
    "x86-64": {
        "arithmetic": "addsd vaddpd mulss vdivps sqrtsd vminph vhaddps vmaxsd dppd vaddsubpd",
        "fused": "vfmadd213pd vfnmsub231ss vfmaddsub132ps vfmadd231ph vfcmaddcph",
        "comparison": "ucomisd comiss vcmpltpd cmpps cmpeqsd vcmppd vfpclasspdx vcomish",
        "approximation": "rcpps vrsqrt14pd vrcp28ss",
        "rounding": "roundsd vrndscaleps vgetexppd vscalefsd vreducepd vrangeps vfixupimmpd",
        "dot products": "vdpbf16ps tdpbf16ps tdpfp16ps",
        "x87": "fadd faddp fmul fmulp fsubrp fdivl fcomip fucomi fucompp fsqrt fchs fabs fiadds",
    },
    "aarch64": {
        "arithmetic": "fadd fmul fdiv fsqrt fmaxnm faddp fneg",
        "fused": "fmadd fnmsub fmla fmls fmlal2 fcmla",
        "comparison": "fcmp fcmpe fcmgt facge fccmp",
        "rounding": "frintn frinta",
        "dot products": "bfdot bfmmla",
    },
}
GOOD = {
    "x86-64": "vmovapd movsd movss vmovups cvtsi2sd vcvttpd2dq vxorps andnps unpcklpd vshufps vblendvpd vbroadcastss "
    "vpaddd vpmulld vpdpbusd tdpbssd tileloadd vpmaxsd vpminub imul add sub cmp cmpxchg vpcmpeqd vpmaddwd vinsertf32x4 "
    "vextractf128 vperm2f128 vpermps vpermilpd fldt fxsave fnstcw fwait vpsubsb vpmadd52luq vmaskmovps vgatherdps",
    "aarch64": "fmov add mul smmla sdot usdot ldr str fcvtzs ucvtf movi mla smlal fcsel",
}


@pytest.mark.parametrize("architecture", FAMILIES)
def test_families(architecture):
    """The negative control: what is found, in the family that it is of, and what is let through."""

    def listing(mnemonics):
        return "\n".join(f"    12a{i}:\t{m}    %xmm0,%xmm1" for i, m in enumerate(mnemonics.split()))

    families = FAMILIES[architecture]
    for family, mnemonics in BAD[architecture].items():
        found = floating_instructions(listing(mnemonics), families)
        assert [name for name, _ in found] == [family] * len(mnemonics.split()), found
    assert floating_instructions(listing(GOOD[architecture]), families) == []


def test_compiled_arithmetic_is_found(tmp_path):
    """The negative control on what a compiler makes of the smallest mistake."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or shutil.which("objdump") is None:
        pytest.skip("disassembly of a mistake NOT EXERCISED: no C compiler or no objdump")
    source, target = tmp_path / "mistake.c", tmp_path / "mistake.o"
    source.write_text("long mistake(long a, long b) { return (long)((double)a * (double)b); }\n")
    subprocess.run([compiler, "-O2", "-c", str(source), "-o", str(target)], check=True)
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(target)], check=True, capture_output=True)
    text = listing.stdout.decode()
    architecture = re.search(r"file format elf64-(?:little)?(x86-64|aarch64)", text)
    if architecture is None:
        pytest.skip("disassembly of a mistake NOT EXERCISED: mnemonics of this architecture are not listed")
    assert [family for family, _ in floating_instructions(text, FAMILIES[architecture[1]])] == ["arithmetic"]
