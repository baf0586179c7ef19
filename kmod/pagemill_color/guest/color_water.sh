#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Makes md.tpr in this folder: GROMACS is to compute 20 steps of a box of water.

cat >topol.top <<END
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spc.itp"
[ system ]
water
[ molecules ]
END
cat >md.mdp <<END
integrator = md
nsteps = 20
dt = 0.001
cutoff-scheme = Verlet
coulombtype = PME
tcoupl = v-rescale
tc-grps = System
tau-t = 0.1
ref-t = 300
END
export GMX_MAXBACKUP=-1
gmx -quiet solvate -cs spc216.gro -box 3.6 3.6 3.6 -o water.gro || exit 1
echo "SOL $(grep -c OW water.gro)" >>topol.top
gmx -quiet grompp -f md.mdp -c water.gro -p topol.top -o md.tpr
