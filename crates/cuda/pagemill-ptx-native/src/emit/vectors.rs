//! The vector instructions of compiled kernels.

use crate::assembler::encode::Vector;
use crate::assembler::encode::prefix::{NONE, P66, PF2, PF3};

macro_rules! vectors {
    ($($name:ident = $map:literal $prefix:ident $wide:literal $opcode:literal;)*) => {
        $(pub(crate) const $name: Vector = Vector::new($map, $prefix, $wide == 1, $opcode);)*
    };
}

vectors! {
    // Opcode map, prefix, width bit, opcode.
    VMOVDQA32_LOAD = 1 P66 0 0x6f;
    VMOVDQA64_LOAD = 1 P66 1 0x6f;
    VMOVDQA64_STORE = 1 P66 1 0x7f;
    VMOVDQU32_LOAD = 1 PF3 0 0x6f;
    VMOVDQU32_STORE = 1 PF3 0 0x7f;
    VMOVDQU64_LOAD = 1 PF3 1 0x6f;
    VMOVDQU64_STORE = 1 PF3 1 0x7f;
    VMOVD_TO_GPR = 1 P66 0 0x7e;
    VMOVQ_TO_GPR = 1 P66 1 0x7e;
    VPBROADCASTD = 2 P66 0 0x58;
    VPBROADCASTQ = 2 P66 1 0x59;
    VPBROADCASTD_GPR = 2 P66 0 0x7c;
    VPBROADCASTQ_GPR = 2 P66 1 0x7c;
    VPBLENDMD = 2 P66 0 0x64;
    VPBLENDMQ = 2 P66 1 0x64;
    VEXTRACTI64X4 = 3 P66 1 0x3b;
    VINSERTI64X4 = 3 P66 1 0x3a;
    VPMOVZXDQ = 2 P66 0 0x35;
    VPMOVSXDQ = 2 P66 0 0x25;
    VPMOVZXBD = 2 P66 0 0x31;
    VPMOVZXWD = 2 P66 0 0x33;
    VPMOVSXBD = 2 P66 0 0x21;
    VPMOVSXWD = 2 P66 0 0x23;
    VPMOVDB = 2 PF3 0 0x31;
    VPMOVDW = 2 PF3 0 0x33;
    VPERMI2D = 2 P66 0 0x76;
    VPERMI2Q = 2 P66 1 0x76;
    VPTERNLOGD = 3 P66 0 0x25;
    VPTERNLOGQ = 3 P66 1 0x25;
    VPTESTMD = 2 P66 0 0x27;
    VPTESTMQ = 2 P66 1 0x27;
    VPTESTNMD = 2 PF3 0 0x27;
    VPTESTNMQ = 2 PF3 1 0x27;
    VPGATHERDD = 2 P66 0 0x90;
    VPGATHERQD = 2 P66 0 0x91;
    VPGATHERQQ = 2 P66 1 0x91;
    VPSCATTERDD = 2 P66 0 0xa0;
    VPSCATTERQD = 2 P66 0 0xa1;
    VPSCATTERQQ = 2 P66 1 0xa1;

    VPADDD = 1 P66 0 0xfe;
    VPSUBD = 1 P66 0 0xfa;
    VPMULLD = 2 P66 0 0x40;
    VPANDD = 1 P66 0 0xdb;
    VPORD = 1 P66 0 0xeb;
    VPXORD = 1 P66 0 0xef;
    VPMINUD = 2 P66 0 0x3b;
    VPMINSD = 2 P66 0 0x39;
    VPMAXUD = 2 P66 0 0x3f;
    VPMAXSD = 2 P66 0 0x3d;
    VPABSD = 2 P66 0 0x1e;
    VPSLLVD = 2 P66 0 0x47;
    VPSRLVD = 2 P66 0 0x45;
    VPSRAVD = 2 P66 0 0x46;
    // Shifts by an immediate: the number in the group is the first operand.
    SHIFT_D_IMM = 1 P66 0 0x72;
    SHIFT_Q_IMM = 1 P66 1 0x73;
    VPLZCNTD = 2 P66 0 0x44;
    VPCMPD = 3 P66 0 0x1f;
    VPCMPUD = 3 P66 0 0x1e;

    VPADDQ = 1 P66 1 0xd4;
    VPSUBQ = 1 P66 1 0xfb;
    VPMULLQ = 2 P66 1 0x40;
    VPMULUDQ = 1 P66 1 0xf4;
    VPMULDQ = 2 P66 1 0x28;
    VPANDQ = 1 P66 1 0xdb;
    VPORQ = 1 P66 1 0xeb;
    VPXORQ = 1 P66 1 0xef;
    VPMINUQ = 2 P66 1 0x3b;
    VPMINSQ = 2 P66 1 0x39;
    VPMAXUQ = 2 P66 1 0x3f;
    VPMAXSQ = 2 P66 1 0x3d;
    VPABSQ = 2 P66 1 0x1f;
    VPSLLVQ = 2 P66 1 0x47;
    VPSRLVQ = 2 P66 1 0x45;
    VPSRAVQ = 2 P66 1 0x46;
    VPCMPQ = 3 P66 1 0x1f;
    VPCMPUQ = 3 P66 1 0x1e;

    VADDPS = 1 NONE 0 0x58;
    VSUBPS = 1 NONE 0 0x5c;
    VMULPS = 1 NONE 0 0x59;
    VDIVPS = 1 NONE 0 0x5e;
    VMINPS = 1 NONE 0 0x5d;
    VMAXPS = 1 NONE 0 0x5f;
    VSQRTPS = 1 NONE 0 0x51;
    VFMADD231PS = 2 P66 0 0xb8;
    VRNDSCALEPS = 3 P66 0 0x08;
    VCMPPS = 1 NONE 0 0xc2;
    VADDPD = 1 P66 1 0x58;
    VSUBPD = 1 P66 1 0x5c;
    VMULPD = 1 P66 1 0x59;
    VDIVPD = 1 P66 1 0x5e;
    VMINPD = 1 P66 1 0x5d;
    VMAXPD = 1 P66 1 0x5f;
    VSQRTPD = 1 P66 1 0x51;
    VFMADD231PD = 2 P66 1 0xb8;
    VRNDSCALEPD = 3 P66 1 0x09;
    VCMPPD = 1 P66 1 0xc2;

    VCVTDQ2PS = 1 NONE 0 0x5b;
    VCVTUDQ2PS = 1 PF2 0 0x7a;
    VCVTDQ2PD = 1 PF3 0 0xe6;
    VCVTUDQ2PD = 1 PF3 0 0x7a;
    VCVTQQ2PD = 1 PF3 1 0xe6;
    VCVTUQQ2PD = 1 PF3 1 0x7a;
    VCVTPS2PD = 1 NONE 0 0x5a;
    VCVTPD2PS = 1 P66 1 0x5a;
    VCVTTPS2DQ = 1 PF3 0 0x5b;
    VCVTTPS2UDQ = 1 NONE 0 0x78;
    VCVTTPD2DQ = 1 P66 1 0xe6;
    VCVTTPD2UDQ = 1 NONE 1 0x78;
}

/// Predicates of integer comparisons.
pub(crate) mod integer {
    pub const EQUAL: u8 = 0;
    pub const LESS: u8 = 1;
    pub const LESS_EQUAL: u8 = 2;
    pub const NOT_EQUAL: u8 = 4;
    pub const NOT_LESS: u8 = 5;
}

/// Predicates of quiet float comparisons.
pub(crate) mod float {
    pub const EQUAL: u8 = 0;
    pub const LESS: u8 = 0x11;
    pub const LESS_EQUAL: u8 = 0x12;
    pub const UNORDERED: u8 = 3;
    pub const GREATER_EQUAL: u8 = 0x1d;
    pub const GREATER: u8 = 0x1e;
}
