//! PTX instructions to micro-operations: one table of opcodes, one file per family.

mod arithmetic;
mod atomic;
mod bits;
mod blocks;
mod body;
mod bulk;
mod call_params;
mod calls;
mod carry;
mod compare;
mod context;
mod control;
mod convert;
mod copy;
mod float;
mod half;
mod int;
mod integer;
mod logic;
mod matrix;
mod mbarrier;
mod memory;
mod modifiers;
mod moves;
mod names;
mod operands;
mod real_calls;
mod stack;
mod tensor;
mod tensor_map;
mod texture;
mod video;
mod warp;
mod wmma;

pub(super) use body::decode;
use context::Decoder;
pub(super) use context::{Decoded, Names, SharedLayout};
use modifiers::Modifiers;

use crate::fail::Fail;
use pagemill_ptx_ir::info::InstructionClass as Class;

type DecodeFn = fn(&mut Decoder<'_>, &mut Modifiers<'_>) -> Result<(), Fail>;

/// One opcode the decoder knows.
#[derive(Clone, Copy)]
pub struct SupportedOpcode {
    /// The opcode's first part, such as `add`.
    pub name: &'static str,
    /// The forms that are supported, alternatives separated by `|`, optional parts in brackets.
    pub forms: &'static str,
    class: Class,
    decode: DecodeFn,
}

impl std::fmt::Debug for SupportedOpcode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.name, self.forms)
    }
}

const fn row(
    name: &'static str,
    class: Class,
    decode: DecodeFn,
    forms: &'static str,
) -> SupportedOpcode {
    SupportedOpcode {
        name,
        forms,
        class,
        decode,
    }
}

/// The opcodes that can be executed, in alphabetical order. The decoder uses this very table.
pub fn supported_opcodes() -> &'static [SupportedOpcode] {
    OPCODES
}

const INTEGERS: &str = "{u16 s16 u32 s32 u64 s64}";

#[rustfmt::skip]
static OPCODES: &[SupportedOpcode] = &[
    row("abs", Class::Integer, integer::abs, "{s16 s32 s64 f16 f16x2 bf16 bf16x2} | [ftz] f32 | f64"),
    row("activemask", Class::Integer, warp::activemask, "b32"),
    row("add", Class::Integer, integer::add, "[sat] {s32} | [cc] {u32 s32 u64 s64} | {u16 s16 u16x2 s16x2} | [rn rz rm rp] [ftz] [sat] f32 | [rn rz rm rp] [ftz] f32x2 | [rn rz rm rp] f64 | [rn] [ftz] [sat] {f16 f16x2 bf16 bf16x2}"),
    row("addc", Class::Integer, carry::addc, "[cc] {u32 s32 u64 s64}"),
    row("alloca", Class::Integer, stack::alloca, "{u32 u64} of the thread's stack"),
    row("and", Class::Integer, logic::logic, "{pred b16 b32 b64}"),
    row("applypriority", Class::Control, control::ignore, "global L2::evict_normal: no effect"),
    row("atom", Class::Atomic, atomic::atom, "[sem] [scope] [global shared] {and or xor}.{b32 b64} | {exch cas}.{b16 b32 b64 b128} | {add}.{u32 s32 u64 f32 f64 f16 bf16 f16x2 bf16x2} | {inc dec}.u32 | {min max}.{u32 s32 u64 s64} | [global] {add}.{v2 v4}.f32 | [global] {add min max}.{v2 v4}.{f16 bf16 f16x2 bf16x2} | [global] {add min max}.v8.{f16 bf16}"),
    row("bar", Class::Barrier, control::bar, "[cta] sync | arrive | red.{popc.u32 and.pred or.pred} | warp.sync"),
    row("barrier", Class::Barrier, control::bar, "[cta] sync | arrive | red.{popc.u32 and.pred or.pred} [aligned] | cluster.{arrive wait} [release relaxed acquire] [aligned]"),
    row("bfe", Class::Integer, bits::bfe, "{u32 s32 u64 s64}"),
    row("bfi", Class::Integer, bits::bfi, "{b32 b64}"),
    row("bfind", Class::Integer, bits::bfind, "[shiftamt] {u32 s32 u64 s64}"),
    row("bmsk", Class::Integer, bits::bmsk, "{clamp wrap}.b32"),
    row("bra", Class::Control, control::bra, "[uni]"),
    row("brev", Class::Integer, bits::brev, "{b32 b64}"),
    row("brkpt", Class::Control, control::trap, "stops the kernel"),
    row("brx", Class::Control, control::brx, "idx [uni]"),
    row("call", Class::Control, control::misplaced_call, "[uni] of a defined function, of a function by its address, of vprintf, malloc, free or __assertfail"),
    row("clz", Class::Integer, bits::clz, "{b32 b64}"),
    row("cnot", Class::Integer, logic::cnot, "{b16 b32 b64}"),
    row("copysign", Class::Float32, float::copysign, "{f32 f64}"),
    row("cos", Class::Special, float::sine, "approx [ftz] f32"),
    row("cp", Class::GlobalMemory, copy::cp, "async.{ca cg}.shared.global of 4, 8 or 16 bytes [and how many to read] | async.{commit_group wait_group wait_all} | async.mbarrier.arrive [noinc] [shared] b64 | [reduce] async.bulk [tensor of 1 to 5 dimensions, tile] [multicast] of global and shared memory, by groups or mbarrier, without byte masks, im2col and gathering"),
    row("createpolicy", Class::Integer, moves::create_policy, "{fractional range cvt} b64: no effect"),
    row("cvt", Class::Convert, convert::cvt, "[rn rz rm rp rna rni rzi rmi rpi] [ftz] [sat] [relu] between integers of 8 to 64 bits, f16, bf16, f32, f64; {f16x2 bf16x2}.f32; {e4m3x2 e5m2x2 e2m3x2 e3m2x2 e2m1x2}.{f32 f16x2 bf16x2} and back to f16x2; ue8m0x2.{f32 bf16x2} and back to bf16x2; rna tf32.f32; pack.sat"),
    row("cvta", Class::Integer, moves::cvta, "[to] {global shared local const param}.u64"),
    row("discard", Class::Control, control::ignore, "global L2: no effect"),
    row("div", Class::Special, integer::div, "{u16 s16 u32 s32 u64 s64} | {approx full rn rz rm rp} [ftz] f32 | {rn rz rm rp} f64"),
    row("dp2a", Class::IntegerMultiply, bits::dp2a, "{lo hi}.{u32 s32}.{u32 s32}"),
    row("dp4a", Class::IntegerMultiply, bits::dp4a, "{u32 s32}.{u32 s32}"),
    row("elect", Class::Integer, warp::elect, "sync"),
    row("ex2", Class::Special, float::ex2, "approx [ftz] {f32 f16 f16x2 bf16 bf16x2}"),
    row("exit", Class::Control, control::exit, ""),
    row("fence", Class::Barrier, control::fence, "any: memory is sequentially consistent here"),
    row("fma", Class::Float32, float::fma, "{rn rz rm rp} [ftz] [sat] f32 | {rn rz rm rp} [ftz] f32x2 | {rn rz rm rp} f64 | rn [ftz] [sat relu] {f16 f16x2 bf16 bf16x2}"),
    row("fns", Class::Integer, bits::fns, "b32"),
    row("getctarank", Class::Integer, moves::getctarank, "[shared::cluster] {u32 u64}"),
    row("griddepcontrol", Class::Control, control::ignore, "{launch_dependents wait}: kernels run one after the other"),
    row("isspacep", Class::Integer, moves::isspacep, "{global shared local const param}"),
    row("ld", Class::GlobalMemory, memory::ld, "[sem] [scope] [global shared local const param] [cop] [nc] [v2 v4 v8] {b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64}"),
    row("ldmatrix", Class::SharedMemory, matrix::ldmatrix, "sync [aligned] m8n8.{x1 x2 x4} [trans] [shared] b16"),
    row("ldu", Class::GlobalMemory, memory::ld, "[global] [v2 v4] {b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64}"),
    row("lg2", Class::Special, float::lg2, "approx [ftz] f32"),
    row("lop3", Class::Integer, bits::lop3, "[or and] b32"),
    row("mad", Class::IntegerMultiply, integer::mad, "{lo hi}.{u16 s16 u32 s32 u64 s64} | wide.{u16 s16 u32 s32} | hi.sat.s32 | [lo hi] cc.{u32 s32 u64 s64} | {rn rz rm rp} [ftz] [sat] f32 | {rn rz rm rp} f64"),
    row("mad24", Class::IntegerMultiply, bits::mad24, "{lo hi}.{u32 s32} | hi.sat.s32"),
    row("madc", Class::IntegerMultiply, carry::madc, "{lo hi} [cc] {u32 s32 u64 s64}"),
    row("mapa", Class::Integer, moves::mapa, "[shared::cluster] {u32 u64}"),
    row("match", Class::Integer, warp::match_lanes, "{any all}.sync.{b32 b64}"),
    row("max", Class::Integer, integer::max, "{u16 s16 u16x2 s16x2 u32 s32 u64 s64} [relu] | [ftz] [NaN] [xorsign.abs] {f32 f16 f16x2 bf16 bf16x2} | f64"),
    row("mbarrier", Class::Atomic, mbarrier::mbarrier, "{init inval arrive arrive_drop expect_tx complete_tx} [expect_tx] [noComplete] [sem] [scope] [shared] b64 | {test_wait try_wait} [parity] [sem] [scope] [shared] b64 | pending_count.b64"),
    row("membar", Class::Barrier, control::fence, "any: memory is sequentially consistent here"),
    row("min", Class::Integer, integer::min, "{u16 s16 u16x2 s16x2 u32 s32 u64 s64} [relu] | [ftz] [NaN] [xorsign.abs] {f32 f16 f16x2 bf16 bf16x2} | f64"),
    row("mma", Class::Special, matrix::mma, "sync [aligned] row.col [satfinite] m16n8{k8 k16}.{f16 bf16} | m16n8{k4 k8}.tf32 | {m8n8k4 m16n8k4 m16n8k8 m16n8k16}.f64 | m16n8{k16 k32}.{e4m3 e5m2} | {m8n8k16 m16n8k16 m16n8k32}.{s8 u8} | {m8n8k32 m16n8k32 m16n8k64}.{s4 u4} | {m8n8k128 m16n8k128 m16n8k256}.b1 {and xor}.popc"),
    row("mov", Class::Integer, moves::mov, "{pred b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64 b128}, packing and unpacking vectors"),
    row("movmatrix", Class::SharedMemory, matrix::movmatrix, "sync [aligned] m8n8.trans.b16"),
    row("mul", Class::IntegerMultiply, integer::mul, "{lo hi}.{u16 s16 u32 s32 u64 s64} | wide.{u16 s16 u32 s32} | [rn rz rm rp] [ftz] [sat] f32 | [rn rz rm rp] [ftz] f32x2 | [rn rz rm rp] f64 | [rn] [ftz] [sat] {f16 f16x2 bf16 bf16x2}"),
    row("mul24", Class::IntegerMultiply, bits::mul24, "{lo hi}.{u32 s32}"),
    row("nanosleep", Class::Control, control::ignore, "u32: no effect"),
    row("neg", Class::Integer, integer::neg, "{s16 s32 s64 f16 f16x2 bf16 bf16x2} | [ftz] f32 | f64"),
    row("not", Class::Integer, logic::not, "{pred b16 b32 b64}"),
    row("or", Class::Integer, logic::logic, "{pred b16 b32 b64}"),
    row("pmevent", Class::Control, control::ignore, "no effect"),
    row("popc", Class::Integer, bits::popc, "{b32 b64}"),
    row("prefetch", Class::Control, control::ignore, "any: no effect"),
    row("prefetchu", Class::Control, control::ignore, "L1: no effect"),
    row("prmt", Class::Integer, bits::prmt, "b32 [f4e b4e rc8 ecl ecr rc16]"),
    row("rcp", Class::Special, float::rcp, "{approx rn rz rm rp} [ftz] f32 | {rn rz rm rp} f64 | approx.ftz.f64"),
    row("red", Class::Atomic, atomic::red, "as atom, without exch and cas | async, which counts at an mbarrier"),
    row("redux", Class::Integer, warp::redux, "sync.{add min max}.{u32 s32} | sync.{and or xor}.b32 | sync.{min max} [abs] [NaN] f32"),
    row("rem", Class::Special, integer::rem, INTEGERS),
    row("ret", Class::Control, control::ret, "[uni]"),
    row("rsqrt", Class::Special, float::rsqrt, "approx [ftz] {f32 f64}"),
    row("sad", Class::Integer, bits::sad, INTEGERS),
    row("selp", Class::Integer, compare::selp, "{b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64}"),
    row("set", Class::Integer, compare::set, "CmpOp [BoolOp] [ftz] {u32 s32 f32 u16 f16 bf16}.{source type}"),
    row("setmaxnreg", Class::Control, control::ignore, "{inc dec}.sync.aligned: no effect"),
    row("setp", Class::Integer, compare::setp, "CmpOp [BoolOp] [ftz] {b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64 f16 f16x2 bf16 bf16x2}"),
    row("shf", Class::Integer, bits::shf, "{l r}.{clamp wrap}.b32"),
    row("shfl", Class::SharedMemory, warp::shfl, "[sync] {up down bfly idx}.b32"),
    row("shl", Class::Integer, logic::shl, "{b16 b32 b64}"),
    row("shr", Class::Integer, logic::shr, "{b16 b32 b64 u16 u32 u64 s16 s32 s64}"),
    row("sin", Class::Special, float::sine, "approx [ftz] f32"),
    row("slct", Class::Integer, compare::slct, "[ftz] {b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64}.{s32 f32}"),
    row("sqrt", Class::Special, float::sqrt, "{approx rn rz rm rp} [ftz] f32 | {rn rz rm rp} f64"),
    row("st", Class::GlobalMemory, mbarrier::st, "[sem] [scope] [global shared local param] [cop] [v2 v4 v8] [async, which counts at an mbarrier] {b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64}"),
    row("stackrestore", Class::Integer, stack::stackrestore, "{u32 u64}"),
    row("stacksave", Class::Integer, stack::stacksave, "{u32 u64}"),
    row("stmatrix", Class::SharedMemory, matrix::stmatrix, "sync [aligned] m8n8.{x1 x2 x4} [trans] [shared] b16"),
    row("sub", Class::Integer, integer::sub, "as add"),
    row("subc", Class::Integer, carry::subc, "[cc] {u32 s32 u64 s64}"),
    row("suld", Class::GlobalMemory, texture::suld, "b.{1d 2d 3d a1d a2d} [cop] [v2 v4] {b8 b16 b32 b64} [trap clamp zero]"),
    row("sust", Class::GlobalMemory, texture::sust, "b.{1d 2d 3d a1d a2d} [cop] [v2 v4] {b8 b16 b32 b64} [trap clamp zero]"),
    row("szext", Class::Integer, bits::szext, "{clamp wrap}.{u32 s32}"),
    row("tanh", Class::Special, float::tanh, "approx {f32 f16 f16x2 bf16 bf16x2}"),
    row("tensormap", Class::GlobalMemory, tensor_map::tensormap, "replace.tile [global shared::cta] of every field | cp_fenceproxy"),
    row("testp", Class::Float32, float::testp, "{finite infinite number notanumber normal subnormal}.{f32 f64}"),
    row("tex", Class::GlobalMemory, texture::tex, "[level] {1d 2d 3d a1d a2d} v4.{u32 s32 f32}.{s32 f32} of a texture object; it has one level"),
    row("tld4", Class::GlobalMemory, texture::tld4, "{r g b a}.2d.v4.{u32 s32 f32}.f32 of a texture object"),
    row("trap", Class::Control, control::trap, "stops the kernel"),
    row("vabsdiff", Class::Integer, video::video, "{u32 s32}.{u32 s32}.{u32 s32} [sat] [add min max], without selectors and masks"),
    row("vabsdiff2", Class::Integer, video::video, "{u32 s32}.{u32 s32}.{u32 s32} [sat] [add], without selectors and masks"),
    row("vabsdiff4", Class::Integer, video::video, "{u32 s32}.{u32 s32}.{u32 s32} [sat] [add], without selectors and masks"),
    row("vadd", Class::Integer, video::video, "{u32 s32}.{u32 s32}.{u32 s32} [sat] [add min max], without selectors and masks"),
    row("vadd2", Class::Integer, video::video, "{u32 s32}.{u32 s32}.{u32 s32} [sat] [add], without selectors and masks"),
    row("vadd4", Class::Integer, video::video, "{u32 s32}.{u32 s32}.{u32 s32} [sat] [add], without selectors and masks"),
    row("vavrg2", Class::Integer, video::video, "{u32 s32}.{u32 s32}.{u32 s32} [sat] [add], without selectors and masks"),
    row("vavrg4", Class::Integer, video::video, "{u32 s32}.{u32 s32}.{u32 s32} [sat] [add], without selectors and masks"),
    row("vmax", Class::Integer, video::video, "{u32 s32}.{u32 s32}.{u32 s32} [sat] [add min max], without selectors and masks"),
    row("vmax2", Class::Integer, video::video, "{u32 s32}.{u32 s32}.{u32 s32} [sat] [add], without selectors and masks"),
    row("vmax4", Class::Integer, video::video, "{u32 s32}.{u32 s32}.{u32 s32} [sat] [add], without selectors and masks"),
    row("vmin", Class::Integer, video::video, "{u32 s32}.{u32 s32}.{u32 s32} [sat] [add min max], without selectors and masks"),
    row("vmin2", Class::Integer, video::video, "{u32 s32}.{u32 s32}.{u32 s32} [sat] [add], without selectors and masks"),
    row("vmin4", Class::Integer, video::video, "{u32 s32}.{u32 s32}.{u32 s32} [sat] [add], without selectors and masks"),
    row("vote", Class::Integer, warp::vote, "[sync] {all any uni}.pred | [sync] ballot.b32"),
    row("vsub", Class::Integer, video::video, "{u32 s32}.{u32 s32}.{u32 s32} [sat] [add min max], without selectors and masks"),
    row("vsub2", Class::Integer, video::video, "{u32 s32}.{u32 s32}.{u32 s32} [sat] [add], without selectors and masks"),
    row("vsub4", Class::Integer, video::video, "{u32 s32}.{u32 s32}.{u32 s32} [sat] [add], without selectors and masks"),
    row("wgmma", Class::Special, matrix::wgmma, "{fence commit_group wait_group} | mma_async.sync.aligned m64n{8 to 256}{k16}.{f16 f32}.{f16 bf16} | k8.f32.tf32 | k32.{f16 f32}.{e4m3 e5m2} | [satfinite] k32.s32.{s8 u8} | k256.s32.b1.and.popc, of dense matrices"),
    row("wmma", Class::Special, wmma::wmma, "{load.a load.b load.c store.d} sync [aligned] {row col} {m16n16k16 m8n32k16 m32n8k16}.{f16 bf16 s8 u8 f32 s32} | m16n16k8.{tf32 f32} | m8n8k4.f64 | m8n8k32.{s4 u4 s32} | m8n8k128.{b1 s32} | mma.sync of these"),
    row("xor", Class::Integer, logic::logic, "{pred b16 b32 b64}"),
];

/// The row of opcode `name`.
fn find(name: &str) -> Option<&'static SupportedOpcode> {
    OPCODES
        .binary_search_by(|row| row.name.cmp(name))
        .ok()
        .map(|at| &OPCODES[at])
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_is_sorted() {
        assert!(super::OPCODES.is_sorted_by(|a, b| a.name < b.name));
    }
}
