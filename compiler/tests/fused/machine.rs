//! A minimal WebAssembly interpreter for emitted modules. It records the host calls.

use std::collections::HashMap;

use wasmparser::{BlockType, Operator, Parser, Payload};

/// A module that is ready to run. A value is the 64 bits on the stack.
pub(crate) struct Machine<'m> {
    imports: Vec<&'m str>,
    n_locals: usize,
    operators: Vec<Operator<'m>>,
    /// The end of each block, by operator index.
    ends: HashMap<usize, usize>,
    /// The `else` of each `if`, by operator index.
    elses: HashMap<usize, usize>,
}

pub(crate) struct Ran {
    pub(crate) bits: u64,
    pub(crate) n_instructions: u32,
}

struct Frame {
    end: usize,
    height: usize,
    has_result: bool,
}

impl<'m> Machine<'m> {
    pub(crate) fn new(bytes: &'m [u8]) -> Self {
        let mut machine = Self {
            imports: Vec::new(),
            n_locals: 0,
            operators: Vec::new(),
            ends: HashMap::new(),
            elses: HashMap::new(),
        };
        for payload in Parser::new(0).parse_all(bytes) {
            match payload.unwrap() {
                Payload::ImportSection(section) => {
                    machine.imports = section.into_imports().map(|import| import.unwrap().name).collect();
                }
                Payload::CodeSectionEntry(body) => {
                    for group in body.get_locals_reader().unwrap() {
                        machine.n_locals += group.unwrap().0 as usize;
                    }
                    machine.operators =
                        body.get_operators_reader().unwrap().into_iter().map(Result::unwrap).collect();
                }
                _ => {}
            }
        }
        let mut open = Vec::new();
        for (pc, operator) in machine.operators.iter().enumerate() {
            match operator {
                Operator::Block { .. } | Operator::If { .. } => open.push(pc),
                Operator::Else => {
                    machine.elses.insert(*open.last().unwrap(), pc);
                }
                Operator::End => {
                    if let Some(begin) = open.pop() {
                        machine.ends.insert(begin, pc);
                    }
                }
                _ => {}
            }
        }
        machine
    }

    /// Runs `evaluate`; `host` implements the imports, by name.
    pub(crate) fn run(&self, mut host: impl FnMut(&str, &[u64]) -> u64) -> Ran {
        let mut run = Run { stack: Vec::new(), locals: vec![0; self.n_locals], frames: Vec::new() };
        let (mut pc, mut n_instructions) = (0, 0);
        while let Some(operator) = self.operators.get(pc) {
            n_instructions += 1;
            pc += 1;
            match operator {
                Operator::Block { blockty } => run.enter(self.ends[&(pc - 1)], *blockty),
                Operator::If { blockty } => {
                    let (end, holds) = (self.ends[&(pc - 1)], run.pop() != 0);
                    let otherwise = self.elses.get(&(pc - 1));
                    if holds || otherwise.is_some() {
                        run.enter(end, *blockty);
                    }
                    if !holds {
                        pc = otherwise.unwrap_or(&end) + 1;
                    }
                }
                Operator::Else => pc = run.leave(),
                Operator::End => {
                    run.frames.pop();
                }
                Operator::BrIf { relative_depth: 0 } => {
                    if run.pop() != 0 {
                        pc = run.leave();
                    }
                }
                Operator::Call { function_index } => {
                    let name = self.imports[*function_index as usize];
                    let second = if n_arguments(name) == 2 { Some(run.pop()) } else { None };
                    let arguments: Vec<u64> = [run.pop()].into_iter().chain(second).collect();
                    run.stack.push(host(name, &arguments));
                }
                simple => run.simple(simple),
            }
        }
        assert_eq!(run.stack.len(), 1, "one answer is left");
        Ran { bits: run.pop(), n_instructions }
    }
}

fn n_arguments(import: &str) -> usize {
    tollgate_guest_abi::imports::IMPORTS.iter().find(|row| row.name == import).unwrap().params.len()
}

struct Run {
    stack: Vec<u64>,
    locals: Vec<u64>,
    frames: Vec<Frame>,
}

impl Run {
    fn pop(&mut self) -> u64 {
        self.stack.pop().unwrap()
    }

    fn enter(&mut self, end: usize, block: BlockType) {
        let has_result = !matches!(block, BlockType::Empty);
        self.frames.push(Frame { end, height: self.stack.len(), has_result });
    }

    /// Leaves the innermost block and returns the index to continue at.
    fn leave(&mut self) -> usize {
        let frame = self.frames.pop().unwrap();
        let result = frame.has_result.then(|| self.pop());
        self.stack.truncate(frame.height);
        self.stack.extend(result);
        frame.end + 1
    }

    fn integers(&mut self, combine: impl Fn(u32, u32) -> u32) {
        let (right, left) = (self.pop() as u32, self.pop() as u32);
        self.stack.push(combine(left, right).into());
    }

    fn longs(&mut self, combine: impl Fn(u64, u64) -> u64) {
        let (right, left) = (self.pop(), self.pop());
        self.stack.push(combine(left, right));
    }

    fn floats(&mut self, combine: impl Fn(f64, f64) -> f64) {
        let (right, left) = (f64::from_bits(self.pop()), f64::from_bits(self.pop()));
        self.stack.push(combine(left, right).to_bits());
    }

    fn compared(&mut self, holds: impl Fn(&f64, &f64) -> bool) {
        let (right, left) = (f64::from_bits(self.pop()), f64::from_bits(self.pop()));
        self.stack.push(holds(&left, &right).into());
    }

    fn simple(&mut self, operator: &Operator<'_>) {
        match operator {
            Operator::Drop => {
                self.pop();
            }
            Operator::Select => {
                let (condition, second, first) = (self.pop(), self.pop(), self.pop());
                self.stack.push(if condition == 0 { second } else { first });
            }
            Operator::LocalGet { local_index } => self.stack.push(self.locals[*local_index as usize]),
            Operator::LocalSet { local_index } => self.locals[*local_index as usize] = self.pop(),
            Operator::LocalTee { local_index } => {
                self.locals[*local_index as usize] = *self.stack.last().unwrap();
            }
            Operator::I32Const { value } => self.stack.push(value.cast_unsigned().into()),
            Operator::I64Const { value } => self.stack.push(value.cast_unsigned()),
            Operator::F64Const { value } => self.stack.push(value.bits()),
            Operator::I32Eqz => {
                let value = self.pop();
                self.stack.push((value == 0).into());
            }
            Operator::I32Eq => self.integers(|left, right| (left == right).into()),
            Operator::I32Ne => self.integers(|left, right| (left != right).into()),
            Operator::I32And => self.integers(|left, right| left & right),
            Operator::I32Or => self.integers(|left, right| left | right),
            Operator::I32ShrS => {
                self.integers(|left, right| (left.cast_signed() >> (right & 31)).cast_unsigned());
            }
            // The upper bits of a 32-bit value are zero.
            Operator::I64ExtendI32U => {}
            Operator::I64Ne => self.longs(|left, right| (left != right).into()),
            Operator::I64And => self.longs(|left, right| left & right),
            Operator::I64Or => self.longs(|left, right| left | right),
            Operator::I64Shl => self.longs(|left, right| left << (right & 63)),
            Operator::F64Eq => self.compared(f64::eq),
            Operator::F64Ne => self.compared(f64::ne),
            Operator::F64Lt => self.compared(f64::lt),
            Operator::F64Le => self.compared(f64::le),
            Operator::F64Gt => self.compared(f64::gt),
            Operator::F64Ge => self.compared(f64::ge),
            Operator::F64Add => self.floats(|left, right| left + right),
            Operator::F64Sub => self.floats(|left, right| left - right),
            Operator::F64Mul => self.floats(|left, right| left * right),
            Operator::F64Div => self.floats(|left, right| left / right),
            Operator::F64Neg => {
                let value = f64::from_bits(self.pop());
                self.stack.push((-value).to_bits());
            }
            other => panic!("the compiler emits no {other:?}"),
        }
    }
}
