//! Variable declarations: type, alignment, dimensions, initial value.

use crate::declarations::expression::Constant;
use crate::tokens::error::{Parse, ParseError};
use crate::tokens::parser::{INIT_BYTES_MAX, NESTING_MAX, Parser};
use crate::tokens::token::{Token, shorten};
use pagemill_ptx_ir::ast::{Line, Relocation, Space, Type, Variable};

/// Largest variable, which is also the most an address space could hold.
const VARIABLE_BYTES_MAX: u64 = 1 << 47;

/// What stands before the names of a declaration: `.align 8 .v2 .f32`.
#[derive(Clone, Copy)]
struct ElementType {
    ty: Type,
    lanes: u64,
    align: u64,
}

/// An initial value while it is read.
struct Initial {
    element: Type,
    /// Number of elements inside one element of dimension `k`; the last is 1.
    strides: Vec<u64>,
    /// Elements there is room for; unlimited for `x[] = {...}`.
    capacity: u64,
    bytes: Vec<u8>,
    relocations: Vec<Relocation>,
}

impl<'t> Parser<'t> {
    /// The rest of a variable declaration behind its state space, with the `;`. Names are as written.
    pub(crate) fn declarators(&mut self, space: Space) -> Parse<Vec<(&'t str, Variable)>> {
        let element = self.element_type()?;
        let mut declared = Vec::new();
        loop {
            declared.push(self.declarator(space, element)?);
            if !self.take(b',')? {
                break;
            }
        }
        self.expect(b';')?;
        Ok(declared)
    }

    /// One parameter behind its state space.
    pub(crate) fn parameter(&mut self, space: Space) -> Parse<(&'t str, Variable)> {
        let element = self.element_type()?;
        self.declarator(space, element)
    }

    fn element_type(&mut self) -> Parse<ElementType> {
        let (mut ty, mut lanes, mut align, mut is_pointer) = (None, 1, None, false);
        while let Token::Dot(word) = self.token {
            self.advance()?;
            match word {
                "align" => {
                    let bytes = u64::from(self.number()?);
                    if !bytes.is_power_of_two() {
                        return self
                            .fail(format!("an alignment of {bytes} bytes is no power of two"));
                    }
                    // Behind `.ptr` it is the alignment of what the parameter points to.
                    if !is_pointer {
                        align = Some(bytes);
                    }
                }
                "v2" => lanes = 2,
                "v4" => lanes = 4,
                "v8" => lanes = 8,
                "attribute" => self.skip_parentheses()?,
                "ptr" => is_pointer = true,
                "const" | "global" | "local" | "shared" | "shared::cta" | "shared::cluster"
                    if is_pointer => {}
                "texref" | "samplerref" | "surfref" => {
                    return self.fail(format!("`.{word}` variables are not supported; pass texture objects' data as buffers"));
                }
                _ if ty.is_none() => match Type::from_name(word) {
                    Some(found) => ty = Some(found),
                    None => {
                        return self.fail(format!("`.{}` is no type of a variable", shorten(word)));
                    }
                },
                _ => {
                    return self.fail(format!(
                        "`.{}` has no place in a declaration",
                        shorten(word)
                    ));
                }
            }
        }
        match ty {
            None => self.unexpected("a type such as `.u32`"),
            Some(ty) => Ok(ElementType {
                ty,
                lanes,
                align: align.unwrap_or(ty.bytes() * lanes),
            }),
        }
    }

    fn skip_parentheses(&mut self) -> Parse<()> {
        self.expect(b'(')?;
        while self.token != Token::Punct(b')') {
            if self.token == Token::End {
                return self.unexpected("`)`");
            }
            self.advance()?;
        }
        self.advance()
    }

    fn declarator(&mut self, space: Space, element: ElementType) -> Parse<(&'t str, Variable)> {
        let line = self.line;
        let name = self.ident()?;
        let dimensions = self.dimensions()?;
        let mut strides: Vec<u64> = dimensions.iter().skip(1).copied().collect();
        if element.lanes > 1 && !dimensions.is_empty() {
            strides.push(element.lanes);
        }
        for index in (1..strides.len()).rev() {
            strides[index - 1] =
                self.checked_product(name, &[strides[index - 1], strides[index]])?;
        }
        let is_unsized = dimensions.first() == Some(&0);
        let factors: Vec<u64> = dimensions
            .iter()
            .copied()
            .chain([element.lanes, element.ty.bytes()])
            .collect();
        let mut variable = Variable {
            name: name.to_owned(),
            space,
            align: element.align,
            ty: element.ty,
            bytes: self.checked_product(name, &factors)?,
            strides: self.byte_strides(name, &dimensions, element)?,
            is_extern: false,
            init: None,
            relocations: Vec::new(),
            line,
        };
        if self.take(b'=')? {
            self.initial_value(&mut variable, strides, is_unsized)?;
        }
        Ok((name, variable))
    }

    /// `[3][4]`; an empty first dimension counts as 0.
    fn dimensions(&mut self) -> Parse<Vec<u64>> {
        let mut dimensions = Vec::new();
        while self.take(b'[')? {
            if self.take(b']')? {
                if !dimensions.is_empty() {
                    return self.fail("only the first dimension may be left empty");
                }
                dimensions.push(0);
                continue;
            }
            if dimensions.len() == NESTING_MAX as usize {
                return self.fail("too many dimensions");
            }
            dimensions.push(self.integer_constant()?);
            self.expect(b']')?;
        }
        Ok(dimensions)
    }

    /// Bytes from one index to the next, for each dimension.
    fn byte_strides(
        &self,
        name: &str,
        dimensions: &[u64],
        element: ElementType,
    ) -> Parse<Vec<u64>> {
        let mut bytes = element.ty.bytes() * element.lanes;
        let mut strides = Vec::with_capacity(dimensions.len());
        for (place, &extent) in dimensions.iter().enumerate().rev() {
            strides.push(bytes);
            if place > 0 {
                bytes = self.checked_product(name, &[bytes, extent])?;
            }
        }
        strides.reverse();
        Ok(strides)
    }

    /// `[2]`, or `[2][3]`, behind the name of an array: what that adds to its address. Nothing adds 0.
    pub(crate) fn element_offset(&mut self, name: &str, strides: Option<Vec<u64>>) -> Parse<i64> {
        let mut offset = 0i64;
        let mut indices = 0;
        while self.take(b'[')? {
            let Some(stride) = strides.as_ref().and_then(|strides| strides.get(indices)) else {
                return self.fail(format!(
                    "`{}` is no array with more than {indices} dimensions",
                    shorten(name)
                ));
            };
            let index = self.integer_constant()? as i64;
            offset = offset.wrapping_add(index.wrapping_mul(*stride as i64));
            indices += 1;
            self.expect(b']')?;
        }
        Ok(offset)
    }

    fn checked_product(&self, name: &str, factors: &[u64]) -> Parse<u64> {
        let product = factors
            .iter()
            .try_fold(1u64, |product, &factor| product.checked_mul(factor));
        match product.filter(|&bytes| bytes <= VARIABLE_BYTES_MAX) {
            Some(bytes) => Ok(bytes),
            None => self.fail(format!(
                "variable `{}` is larger than {VARIABLE_BYTES_MAX} bytes",
                shorten(name)
            )),
        }
    }

    fn initial_value(
        &mut self,
        variable: &mut Variable,
        mut strides: Vec<u64>,
        is_unsized: bool,
    ) -> Parse<()> {
        let element_bytes = variable.ty.bytes();
        strides.push(1);
        let capacity = if is_unsized {
            u64::MAX
        } else {
            variable.bytes / element_bytes
        };
        if !is_unsized {
            self.take_init_budget(variable.bytes)?;
        }
        let mut initial = Initial {
            element: variable.ty,
            strides,
            capacity,
            bytes: Vec::new(),
            relocations: Vec::new(),
        };
        if self.token == Token::Punct(b'{') {
            self.initial_list(&mut initial, 0)?;
        } else {
            self.initial_element(&mut initial)?;
        }
        if is_unsized {
            let row_bytes = (initial.strides[0] * element_bytes).max(1);
            variable.bytes = (initial.bytes.len() as u64).next_multiple_of(row_bytes);
            self.take_init_budget(variable.bytes)?;
        }
        initial.bytes.resize(variable.bytes as usize, 0);
        variable.init = Some(initial.bytes);
        variable.relocations = initial.relocations;
        Ok(())
    }

    fn take_init_budget(&mut self, bytes: u64) -> Parse<()> {
        match self.init_bytes_left.checked_sub(bytes) {
            Some(left) => {
                self.init_bytes_left = left;
                Ok(())
            }
            None => self.fail(format!(
                "initial values of more than {INIT_BYTES_MAX} bytes in one module"
            )),
        }
    }

    /// `{...}` at dimension `level`: scalars fill element after element, an inner list starts on its own row.
    fn initial_list(&mut self, initial: &mut Initial, level: usize) -> Parse<()> {
        self.expect(b'{')?;
        while self.token != Token::Punct(b'}') {
            if self.token == Token::Punct(b'{') {
                let Some(&stride) = initial.strides.get(level) else {
                    return self.fail("more braces than dimensions in this initial value");
                };
                self.initial_row(initial, level, stride)?;
            } else {
                self.initial_element(initial)?;
            }
            if !self.take(b',')? {
                break;
            }
        }
        self.expect(b'}')
    }

    fn initial_row(&mut self, initial: &mut Initial, level: usize, stride: u64) -> Parse<()> {
        let start =
            (initial.bytes.len() as u64 / initial.element.bytes()).next_multiple_of(stride.max(1));
        let end = start.saturating_add(stride).min(initial.capacity);
        self.pad_to(initial, start.min(initial.capacity))?;
        let outer = std::mem::replace(&mut initial.capacity, end);
        self.nested(|parser| parser.initial_list(initial, level + 1))?;
        initial.capacity = outer;
        self.pad_to(initial, end)
    }

    fn pad_to(&mut self, initial: &mut Initial, elements: u64) -> Parse<()> {
        let bytes = elements * initial.element.bytes();
        if bytes > INIT_BYTES_MAX {
            return self.fail(format!(
                "initial values of more than {INIT_BYTES_MAX} bytes in one module"
            ));
        }
        initial.bytes.resize(bytes as usize, 0);
        Ok(())
    }

    fn initial_element(&mut self, initial: &mut Initial) -> Parse<()> {
        let element_bytes = initial.element.bytes();
        let line = self.line;
        if initial.bytes.len() as u64 / element_bytes >= initial.capacity {
            return self.fail("more initial values than elements");
        }
        if let Token::Ident(name) = self.token
            && name != "WARP_SZ"
        {
            let relocation = self.symbol_value(initial.bytes.len() as u64)?;
            return self.store_relocation(initial, relocation, line);
        }
        let constant = self.constant()?;
        match constant {
            Constant::Integer { value: mask, .. } if self.token == Token::Punct(b'(') => {
                let relocation = self.masked_symbol(mask, initial.bytes.len() as u64)?;
                self.store_relocation(initial, relocation, line)
            }
            constant => {
                let bytes = element_image(initial.element, constant);
                initial
                    .bytes
                    .extend_from_slice(&bytes[..element_bytes as usize]);
                Ok(())
            }
        }
    }

    /// `symbol + 4`, `symbol[1]`, `generic(symbol) + 4`, `generic(symbol + 4)`
    fn symbol_value(&mut self, offset: u64) -> Parse<Relocation> {
        let name = self.ident()?;
        let generic = name == "generic" && self.take(b'(')?;
        let symbol = if generic { self.ident()? } else { name };
        let mut addend = 0;
        if self.token == Token::Punct(b'[') {
            let strides = self.arrays.get(symbol).cloned();
            addend = self.element_offset(symbol, strides)?;
        }
        addend = addend.wrapping_add(self.addend()?);
        if generic {
            self.expect(b')')?;
            addend = addend.wrapping_add(self.addend()?);
        }
        Ok(Relocation {
            offset,
            width: 0,
            shift: 0,
            symbol: symbol.to_owned(),
            addend,
            generic,
        })
    }

    /// `(symbol)` behind a mask like `0xFF00`: one byte of an address.
    fn masked_symbol(&mut self, mask: u64, offset: u64) -> Parse<Relocation> {
        let shift = mask.trailing_zeros();
        if mask == 0 || !shift.is_multiple_of(8) || mask >> shift != 0xff {
            return self.fail(format!(
                "mask {mask:#x} does not select one byte of an address"
            ));
        }
        self.expect(b'(')?;
        let relocation = self.symbol_value(offset)?;
        self.expect(b')')?;
        Ok(Relocation {
            width: 1,
            shift: shift as u8,
            ..relocation
        })
    }

    fn store_relocation(
        &mut self,
        initial: &mut Initial,
        mut relocation: Relocation,
        line: Line,
    ) -> Parse<()> {
        let element_bytes = initial.element.bytes();
        if relocation.width == 0 {
            if !matches!(element_bytes, 4 | 8) {
                let message =
                    format!("an address does not fit an element of {element_bytes} bytes");
                return Err(ParseError::new(line, message));
            }
            relocation.width = element_bytes as u8;
        }
        initial.relocations.push(relocation);
        initial
            .bytes
            .resize(initial.bytes.len() + element_bytes as usize, 0);
        Ok(())
    }
}

/// The bytes of `constant` as an element of type `ty`, padded to 16.
fn element_image(ty: Type, constant: Constant) -> [u8; 16] {
    let as_f64 = match constant {
        Constant::Integer {
            value,
            unsigned: true,
        } => value as f64,
        Constant::Integer { value, .. } => value as i64 as f64,
        Constant::Float32(bits) => f64::from(f32::from_bits(bits)),
        Constant::Float64(bits) => f64::from_bits(bits),
    };
    let bits = match (ty, constant) {
        (Type::F32, Constant::Float32(bits)) => u64::from(bits),
        (Type::F32, _) => u64::from((as_f64 as f32).to_bits()),
        (Type::F64, _) => as_f64.to_bits(),
        (Type::F16, Constant::Float32(_) | Constant::Float64(_)) => {
            u64::from(half::f16::from_f64(as_f64).to_bits())
        }
        (Type::Bf16, Constant::Float32(_) | Constant::Float64(_)) => {
            u64::from(half::bf16::from_f64(as_f64).to_bits())
        }
        (_, Constant::Integer { value, .. }) => value,
        (_, Constant::Float32(bits)) => u64::from(bits),
        (_, Constant::Float64(bits)) => bits,
    };
    let mut image = [0; 16];
    image[..8].copy_from_slice(&bits.to_le_bytes());
    image
}
