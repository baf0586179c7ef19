//! Texture fetches, surface loads and surface stores, by handle.

use super::context::Decoder;
use super::memory::{class_for, stored_value, wide_destination};
use super::modifiers::Modifiers;
use crate::fail::Fail;
use crate::flow::program::{Aux, Class, VReg, Value};
use pagemill_ptx_ir::ast::{Address, Operand, Type};
use pagemill_ptx_ir::code::{Detail, OutsideSurface, SurfaceElement, TextureAction, TextureForm};
use pagemill_ptx_ir::op::Op;

/// The shape of what a handle stands for, as the opcode names it.
struct Geometry {
    dimensions: u8,
    layered: bool,
    cube: bool,
}

impl Geometry {
    fn take(decoder: &Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<Self, Fail> {
        let known = ["1d", "2d", "3d", "a1d", "a2d", "cube", "acube"];
        let found = modifiers.take_one(&known);
        let (dimensions, layered, cube) = match found {
            Some("1d") => (1, false, false),
            Some("2d") => (2, false, false),
            Some("3d") => (3, false, false),
            Some("a1d") => (1, true, false),
            Some("a2d") => (2, true, false),
            Some("cube") => (3, false, true),
            Some("acube") => (3, true, true),
            _ => {
                return Err(decoder
                    .bad_form()
                    .help("multisampled images are not supported"));
            }
        };
        Ok(Self {
            dimensions,
            layered,
            cube,
        })
    }
}

/// Handle, coordinates and layer of the operand in brackets.
fn place<'a>(
    decoder: &mut Decoder<'a>,
    operand: &'a Operand,
    geometry: &Geometry,
    coordinate: Type,
) -> Result<Vec<Value>, Fail> {
    let Operand::Address(address) = operand else {
        return Err(decoder.fail("the handle and its coordinates must stand in brackets"));
    };
    let Address {
        base, coordinates, ..
    } = &**address;
    let mut given: Vec<&Operand> = Vec::new();
    for part in coordinates {
        match part {
            Operand::Vector(parts) => given.extend(parts),
            part => given.push(part),
        }
    }
    let first = usize::from(geometry.layered);
    let wanted = usize::from(geometry.dimensions);
    if given.len() < first + wanted {
        return Err(decoder.fail(format!(
            "{} coordinates were given, {} are needed",
            given.len(),
            first + wanted
        )));
    }
    let mut srcs = vec![decoder.value(base, Type::B64)?];
    for &operand in &given[first..first + wanted] {
        srcs.push(decoder.value(operand, coordinate)?);
    }
    // PTX has the layer first; for the machine it comes behind the coordinates.
    if geometry.layered {
        srcs.push(decoder.value(given[0], Type::B32)?);
    }
    Ok(srcs)
}

fn vector<'a>(
    decoder: &Decoder<'a>,
    operand: &'a Operand,
    count: usize,
) -> Result<Vec<&'a Operand>, Fail> {
    match operand {
        Operand::Vector(parts) if parts.len() == count => Ok(parts.iter().collect()),
        operand if count == 1 && !matches!(operand, Operand::Vector(_)) => Ok(vec![operand]),
        _ => Err(decoder.fail(format!("a vector of {count} registers is needed"))),
    }
}

/// Ends an instruction of any form: what is done to the texels at a place.
fn push(
    decoder: &mut Decoder<'_>,
    (action, detail): (TextureAction, Detail),
    geometry: &Geometry,
    dsts: &[VReg],
    srcs: &[Value],
) {
    let aux = Aux::Texture {
        form: TextureForm {
            action,
            dimensions: geometry.dimensions,
            cube: geometry.cube,
            detail,
        },
        layered: geometry.layered,
        slot: None,
    };
    decoder.push(Op::Texture, dsts, srcs, aux);
}

/// A fetch of four channels.
fn fetch(
    decoder: &mut Decoder<'_>,
    (action, detail): (TextureAction, Detail),
    geometry: &Geometry,
    result: Type,
    coordinate: Type,
) -> Result<(), Fail> {
    let mut srcs = place(decoder, decoder.operand(1)?, geometry, coordinate)?;
    match detail {
        Detail::First => {}
        Detail::Level => srcs.push(decoder.value(decoder.operand(2)?, Type::F32)?),
        Detail::Gradients => {
            for number in [2, 3] {
                srcs.extend(gradient(decoder, decoder.operand(number)?, geometry)?);
            }
        }
    }
    let mut dsts = Vec::new();
    for target in vector(decoder, decoder.operand(0)?, 4)? {
        dsts.push(decoder.destination_of(target, result)?);
    }
    push(decoder, (action, detail), geometry, &dsts, &srcs);
    Ok(())
}

/// One number for each dimension.
fn gradient<'a>(
    decoder: &mut Decoder<'a>,
    operand: &'a Operand,
    geometry: &Geometry,
) -> Result<Vec<Value>, Fail> {
    let parts = match operand {
        Operand::Vector(parts) => parts.as_slice(),
        operand => std::slice::from_ref(operand),
    };
    let wanted = usize::from(geometry.dimensions);
    if geometry.cube || parts.len() < wanted {
        return Err(
            decoder.fail("a gradient needs a number for each dimension, and cubes have none")
        );
    }
    let parts = parts[..wanted].iter();
    parts.map(|part| decoder.value(part, Type::F32)).collect()
}

fn result_type(decoder: &Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<Type, Fail> {
    modifiers
        .take_type()
        .filter(|ty| matches!(ty, Type::U32 | Type::S32 | Type::F32))
        .ok_or_else(|| decoder.bad_form())
}

pub(super) fn tex(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let detail = match modifiers.take_one(&["base", "level", "grad"]) {
        Some("level") => Detail::Level,
        Some("grad") => Detail::Gradients,
        _ => Detail::First,
    };
    let geometry = Geometry::take(decoder, modifiers)?;
    if !modifiers.take("v4") {
        return Err(decoder.bad_form());
    }
    let result = result_type(decoder, modifiers)?;
    let integer_coordinates = match modifiers.take_type() {
        Some(Type::S32) => true,
        Some(Type::F32) => false,
        _ => return Err(decoder.bad_form()),
    };
    let coordinate = if integer_coordinates {
        Type::B32
    } else {
        Type::F32
    };
    let action = TextureAction::Sample {
        integer_coordinates,
    };
    fetch(decoder, (action, detail), &geometry, result, coordinate)
}

pub(super) fn tld4(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let component = match modifiers.take_one(&["r", "g", "b", "a"]) {
        Some("r") => 0,
        Some("g") => 1,
        Some("b") => 2,
        Some("a") => 3,
        _ => return Err(decoder.bad_form()),
    };
    if !modifiers.take("2d") || !modifiers.take("v4") {
        return Err(decoder.bad_form());
    }
    let geometry = Geometry {
        dimensions: 2,
        layered: false,
        cube: false,
    };
    let result = result_type(decoder, modifiers)?;
    if modifiers.take_type() != Some(Type::F32) {
        return Err(decoder.bad_form());
    }
    let action = TextureAction::Gather { component };
    fetch(
        decoder,
        (action, Detail::First),
        &geometry,
        result,
        Type::F32,
    )
}

/// What a surface instruction moves, its registers' type included.
fn surface_form(
    decoder: &Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
) -> Result<(Geometry, Type, SurfaceElement), Fail> {
    if !modifiers.take("b") {
        return Err(decoder
            .bad_form()
            .help("only suld.b and sust.b are supported"));
    }
    let geometry = Geometry::take(decoder, modifiers)?;
    modifiers.take_one(&["ca", "cg", "cs", "cv", "wb", "wt"]);
    let count = match modifiers.take_one(&["v2", "v4"]) {
        Some("v2") => 2,
        Some(_) => 4,
        None => 1,
    };
    let ty = modifiers
        .take_type()
        .filter(|ty| matches!(ty, Type::B8 | Type::B16 | Type::B32 | Type::B64))
        .ok_or_else(|| decoder.bad_form())?;
    let outside = match modifiers.take_one(&["trap", "clamp", "zero"]) {
        Some("clamp") => OutsideSurface::Clamp,
        Some("zero") => OutsideSurface::Zero,
        // What PTX means if nothing is said.
        _ => OutsideSurface::Trap,
    };
    let element = SurfaceElement {
        bytes: ty.bytes() as u8,
        count,
        wide: ty.bytes() == 8,
        outside,
    };
    Ok((geometry, ty, element))
}

pub(super) fn suld(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let (geometry, ty, mut element) = surface_form(decoder, modifiers)?;
    let srcs = place(decoder, decoder.operand(1)?, &geometry, Type::B32)?;
    let mut dsts = Vec::new();
    for target in vector(decoder, decoder.operand(0)?, element.count.into())? {
        let (class, _) = class_for(decoder, target, ty)?;
        element.wide = class == Class::Wide;
        dsts.push(wide_destination(decoder, target, class)?);
    }
    push(
        decoder,
        (TextureAction::Load(element), Detail::First),
        &geometry,
        &dsts,
        &srcs,
    );
    Ok(())
}

pub(super) fn sust(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let (geometry, ty, mut element) = surface_form(decoder, modifiers)?;
    let mut srcs = place(decoder, decoder.operand(0)?, &geometry, Type::B32)?;
    for source in vector(decoder, decoder.operand(1)?, element.count.into())? {
        let (class, bytes) = class_for(decoder, source, ty)?;
        element.wide = class == Class::Wide;
        srcs.push(stored_value(decoder, source, ty, class, bytes)?);
    }
    push(
        decoder,
        (TextureAction::Store(element), Detail::First),
        &geometry,
        &[],
        &srcs,
    );
    Ok(())
}
