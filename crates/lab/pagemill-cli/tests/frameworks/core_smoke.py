"""cuda-core: a device, a stream, PTX by an object of code, a launch, against NumPy."""
import numpy as np
from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource, ObjectCode, launch

PTX = b"""
.version 7.0
.target sm_75
.address_size 64
.visible .entry twice(.param .u64 p, .param .u32 n)
{
  .reg .pred %q; .reg .b32 %r<6>; .reg .b64 %d<3>;
  ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %q, %r5, %r1;
  @%q ret;
  mul.wide.u32 %d2, %r5, 4; add.u64 %d1, %d1, %d2;
  ld.global.u32 %r2, [%d1]; shl.b32 %r2, %r2, 1; st.global.u32 [%d1], %r2;
  ret;
}
"""

device = Device()
device.set_current()
stream = device.create_stream()
kernel = ObjectCode.from_ptx(PTX).get_kernel("twice")
values = np.arange(1000, dtype=np.uint32)
buffer = LegacyPinnedMemoryResource().allocate(values.nbytes)
view = np.from_dlpack(buffer).view(np.uint32)
view[:] = values
launch(stream, LaunchConfig(grid=8, block=128), kernel, buffer, np.uint32(values.size))
stream.sync()
np.testing.assert_array_equal(view, 2 * values)
print("cuda-core agrees with NumPy")
