//! Texture fetches, surface loads and surface stores.

use super::access::Stores;
use super::step::{AccessSpace, MemoryAccess};
use super::transfer::{extend, little_endian};
use crate::exec::trap::{Fault, TrapKind};
use crate::texture::{
    AddressMode, Coordinates, Image, Texture, face, gather, nearest_texel, sample,
};
use pagemill_ptx_ir::code::{
    AccessKind, CacheHint, Detail, OutsideSurface, SINK, SurfaceElement, TextureAction, TextureInst,
};
use pagemill_ptx_ir::line::{Frame, LANE_BITS, LANES, lanes_of};

/// Where in an image a lane of a surface instruction goes: byte of the row, row, slice.
type Place = [u64; 3];

/// One lane's fetch.
struct Fetch {
    /// With the image of the level.
    texture: Texture,
    /// The next level, and its weight.
    next: Option<(Image, f32)>,
    at: Coordinates,
    layer: u64,
    dimensions: usize,
}

/// One lane of a texture or surface instruction.
struct Lookup<'a> {
    inst: &'a TextureInst,
    frame: &'a Frame<'a>,
    lane: usize,
}

impl Lookup<'_> {
    /// The three coordinates of a lane as they are; those that it does not have are zero.
    fn raw(&self) -> [u32; 3] {
        let mut raw = [0; 3];
        for (raw, &operand) in raw
            .iter_mut()
            .zip(&self.inst.coordinates[..usize::from(self.inst.form.dimensions)])
        {
            *raw = self.frame.narrow(operand)[self.lane];
        }
        raw
    }

    fn layer(&self) -> u64 {
        self.inst
            .layer
            .map_or(0, |operand| self.frame.narrow(operand)[self.lane].into())
    }

    fn place(&self) -> Coordinates {
        let raw = self.raw();
        match self.inst.form.action {
            TextureAction::Sample {
                integer_coordinates: true,
            } => Coordinates::Integer(raw.map(|bits| bits as i32)),
            _ => Coordinates::Float(raw.map(f32::from_bits)),
        }
    }

    /// What a lane fetches from `texture`.
    fn fetched(&self, texture: &Texture) -> Fetch {
        let (image, next) = texture.levels(self.level(texture));
        let mut fetch = Fetch {
            texture: Texture {
                image,
                mipmap: None,
                ..*texture
            },
            next,
            at: self.place(),
            layer: self.layer(),
            dimensions: usize::from(self.inst.form.dimensions),
        };
        if let (true, Coordinates::Float(direction)) = (self.inst.form.cube, fetch.at) {
            let (number, [across, down]) = face(direction);
            fetch.at = Coordinates::Float([across, down, 0.0]);
            fetch.layer = fetch.layer.saturating_mul(6).saturating_add(number);
            fetch.dimensions = 2;
            fetch.texture.sampler.normalized_coordinates = true;
            fetch.texture.sampler.address = [AddressMode::Clamp; 3];
        }
        fetch
    }

    /// The level that a lane asks for.
    fn level(&self, texture: &Texture) -> f32 {
        let number = |at: usize| f32::from_bits(self.frame.narrow(self.inst.detail[at])[self.lane]);
        match self.inst.form.detail {
            Detail::First => 0.0,
            Detail::Level => number(0),
            Detail::Gradients => {
                let dimensions = usize::from(self.inst.form.dimensions);
                let texels = |axis: usize| match texture.sampler.normalized_coordinates {
                    true => texture.image.extent[axis] as f32,
                    false => 1.0,
                };
                let steps = [0, dimensions].map(|from| {
                    let parts = (0..dimensions).map(|axis| number(from + axis) * texels(axis));
                    parts.map(|part| part * part).sum::<f32>().sqrt()
                });
                steps[0].max(steps[1]).log2()
            }
        }
    }

    /// Where a lane of a surface instruction goes; `None` if nothing happens there.
    fn surface_place(
        &self,
        image: &Image,
        element: SurfaceElement,
    ) -> Result<Option<Place>, Box<Fault>> {
        let mut at = self.raw().map(|bits| i64::from(bits as i32));
        if self.inst.layer.is_some() {
            at[2] = self.layer() as i64;
        }
        let bytes = i64::from(element.bytes) * i64::from(element.count);
        let [width, height, depth] = image.extent;
        let extent = [width * image.texel.bytes(), height, depth];
        let last = [
            extent[0] as i64 - bytes,
            extent[1] as i64 - 1,
            extent[2] as i64 - 1,
        ];
        let inside = at
            .iter()
            .zip(last)
            .all(|(&at, last)| (0..=last).contains(&at));
        let access = match self.inst.form.action {
            TextureAction::Store(_) => "surface store",
            _ => "surface load",
        };
        if at[0] % bytes != 0 {
            let kind = TrapKind::Misaligned {
                access,
                address: at[0] as u64,
                bytes: bytes as u32,
            };
            return Err(Fault::at_lane(self.lane as u32, kind));
        }
        match element.outside {
            _ if inside => Ok(Some(at.map(|at| at as u64))),
            OutsideSurface::Zero => Ok(None),
            OutsideSurface::Clamp if last[0] >= 0 => {
                let mut clamped = [0; 3];
                for (clamped, (at, last)) in clamped.iter_mut().zip(at.into_iter().zip(last)) {
                    *clamped = at.clamp(0, last) as u64;
                }
                Ok(Some(clamped))
            }
            _ => Err(Fault::at_lane(
                self.lane as u32,
                TrapKind::OutsideSurface {
                    access,
                    place: at,
                    extent,
                },
            )),
        }
    }
}

impl Stores<'_> {
    fn texture(&self, handle: u64, lane: usize) -> Result<Texture, Box<Fault>> {
        let found = self.memory.texture(handle).copied();
        found.ok_or_else(|| Fault::at_lane(lane as u32, TrapKind::NoTexture { handle }))
    }

    /// Checks that the image is still there; whether it may not be written.
    fn check_image(
        &self,
        image: &Image,
        lane: usize,
        access: &'static str,
    ) -> Result<(), Box<Fault>> {
        match self.memory.bytes(image.address, image.bytes()) {
            Ok(_) => Ok(()),
            Err(_) => {
                let kind = TrapKind::OutOfBounds {
                    access,
                    address: image.address,
                    bytes: u32::try_from(image.bytes()).unwrap_or(u32::MAX),
                    near: self.memory.nearest(image.address),
                };
                Err(Fault::at_lane(lane as u32, kind))
            }
        }
    }

    /// Describes and checks the access for the timing model, one texel for each lane; whether it reaches memory at all.
    pub(crate) fn announce_texture(
        &mut self,
        frame: &Frame<'_>,
        inst: &TextureInst,
        mask: u32,
        access: &mut MemoryAccess,
    ) -> Result<bool, Box<Fault>> {
        let handles = frame.wide(inst.object);
        *access = MemoryAccess {
            space: AccessSpace::Global,
            slot: inst.slot,
            cache_hint: CacheHint::ReadOnly,
            ..MemoryAccess::default()
        };
        for lane in lanes_of(mask) {
            let texture = self.texture(handles[lane], lane)?;
            let image = &texture.image;
            self.check_image(image, lane, "texture fetch")?;
            let mut level = *image;
            let place = match inst.form.action {
                TextureAction::Load(element) | TextureAction::Store(element) => {
                    access.lane_bytes = u32::from(element.bytes) * u32::from(element.count);
                    Lookup { inst, frame, lane }.surface_place(image, element)?
                }
                TextureAction::Sample { .. } | TextureAction::Gather { .. } => {
                    access.lane_bytes = image.texel.bytes() as u32;
                    let fetch = Lookup { inst, frame, lane }.fetched(&texture);
                    level = fetch.texture.image;
                    nearest_texel(&fetch.texture, fetch.at, fetch.layer, fetch.dimensions)
                        .map(|[x, y, z]| [x * image.texel.bytes(), y, z])
                }
            };
            if let Some([x_bytes, y, z]) = place {
                access.mask |= LANE_BITS[lane];
                access.listed[lane] = level.timed_address(x_bytes, y, z);
            }
        }
        if matches!(inst.form.action, TextureAction::Store(_)) {
            access.kind = AccessKind::Store;
            access.cache_hint = CacheHint::Default;
        }
        Ok(access.mask != 0)
    }

    /// Performs `inst` for the lanes of `mask`.
    pub(crate) fn perform_texture(
        &mut self,
        frame: &mut Frame<'_>,
        inst: &TextureInst,
        mask: u32,
    ) -> Result<(), Box<Fault>> {
        match inst.form.action {
            TextureAction::Load(element) => self.load_surface(frame, inst, mask, element),
            TextureAction::Store(element) => self.store_surface(frame, inst, mask, element),
            _ => self.fetch(frame, inst, mask),
        }
    }

    fn fetch(
        &self,
        frame: &mut Frame<'_>,
        inst: &TextureInst,
        mask: u32,
    ) -> Result<(), Box<Fault>> {
        let mut channels = [[0; LANES]; 4];
        for lane in lanes_of(mask) {
            let texture = self.texture(frame.wide(inst.object)[lane], lane)?;
            let fetch = Lookup { inst, frame, lane }.fetched(&texture);
            let texel = self.texel(inst, &fetch, lane)?;
            for (channel, bits) in channels.iter_mut().zip(texel) {
                channel[lane] = bits;
            }
        }
        for (register, channel) in inst.registers.into_iter().zip(channels) {
            if register != SINK {
                frame.set_narrow(register, mask, channel);
            }
        }
        Ok(())
    }

    /// The four channels of a fetch.
    fn texel(
        &self,
        inst: &TextureInst,
        fetch: &Fetch,
        lane: usize,
    ) -> Result<[u32; 4], Box<Fault>> {
        let of_level = |texture: &Texture| -> Result<[u32; 4], Box<Fault>> {
            let image = &texture.image;
            self.check_image(image, lane, "texture fetch")?;
            // Checked just now.
            let data = self
                .memory
                .bytes(image.address, image.bytes())
                .unwrap_or_default();
            Ok(match (inst.form.action, fetch.at) {
                (TextureAction::Gather { component }, Coordinates::Float(place)) => {
                    gather(texture, place, component.into(), data)
                }
                _ => sample(texture, fetch.at, fetch.layer, fetch.dimensions, data),
            })
        };
        let first = of_level(&fetch.texture)?;
        let Some((image, weight)) = fetch.next else {
            return Ok(first);
        };
        let next = of_level(&Texture {
            image,
            ..fetch.texture
        })?;
        let mix = |channel: usize| {
            let (low, high) = (
                f32::from_bits(first[channel]),
                f32::from_bits(next[channel]),
            );
            ((1.0 - weight) * low + weight * high).to_bits()
        };
        Ok(std::array::from_fn(mix))
    }

    fn load_surface(
        &self,
        frame: &mut Frame<'_>,
        inst: &TextureInst,
        mask: u32,
        element: SurfaceElement,
    ) -> Result<(), Box<Fault>> {
        let width = usize::from(element.bytes);
        let mut values = [[0u64; LANES]; 4];
        for lane in lanes_of(mask) {
            let image = self.texture(frame.wide(inst.object)[lane], lane)?.image;
            self.check_image(&image, lane, "surface load")?;
            let Some([x, y, z]) = Lookup { inst, frame, lane }.surface_place(&image, element)?
            else {
                continue;
            };
            let address = image.address + image.offset(x, y, z);
            let bytes = u64::from(element.bytes) * u64::from(element.count);
            let data = self.memory.bytes(address, bytes).unwrap_or_default();
            for (values, data) in values.iter_mut().zip(data.chunks_exact(width)) {
                values[lane] = extend(little_endian(data), element.bytes, false);
            }
        }
        for (register, values) in inst.registers.into_iter().zip(values) {
            match element.wide {
                _ if register == SINK => {}
                true => frame.set_wide(register, mask, values),
                false => frame.set_narrow(register, mask, values.map(|value| value as u32)),
            }
        }
        Ok(())
    }

    fn store_surface(
        &mut self,
        frame: &Frame<'_>,
        inst: &TextureInst,
        mask: u32,
        element: SurfaceElement,
    ) -> Result<(), Box<Fault>> {
        let width = usize::from(element.bytes);
        for lane in lanes_of(mask) {
            let image = self.texture(frame.wide(inst.object)[lane], lane)?.image;
            self.check_image(&image, lane, "surface store")?;
            let Some([x, y, z]) = Lookup { inst, frame, lane }.surface_place(&image, element)?
            else {
                continue;
            };
            let address = image.address + image.offset(x, y, z);
            let bytes = u64::from(element.bytes) * u64::from(element.count);
            let Ok(data) = self.memory.bytes_mut(address, bytes) else {
                continue;
            };
            for (data, &register) in data.chunks_exact_mut(width).zip(&inst.registers) {
                let value = match element.wide {
                    true => frame.wide(register)[lane],
                    false => frame.narrow(register)[lane].into(),
                };
                data.copy_from_slice(&value.to_le_bytes()[..width]);
            }
        }
        Ok(())
    }
}
