//! Modules that are small on the wire and expensive to compile. Structural checks would reject them; these tests bypass
//! the checks.

use wasm_encoder::{
    BlockType, CodeSection, ExportKind, ExportSection, Function, FunctionSection, InstructionSink, MemArg,
    MemorySection, MemoryType, Module, TypeSection, ValType,
};

pub(crate) struct Bomb {
    pub(crate) name: &'static str,
    /// Creates a module of about this size.
    pub(crate) make: fn(usize) -> Vec<u8>,
    /// Whether it is tried in every run; such a bomb is always refused.
    pub(crate) in_every_run: bool,
}

const fn bomb(name: &'static str, make: fn(usize) -> Vec<u8>) -> Bomb {
    Bomb { name, make, in_every_run: false }
}

const fn bomb_in_every_run(name: &'static str, make: fn(usize) -> Vec<u8>) -> Bomb {
    Bomb { name, make, in_every_run: true }
}

pub(crate) const ALL: [Bomb; 15] = [
    bomb_in_every_run("nested loops, 1,000 locals", |n| one(1_000, &[], n / 14, nested_loops)),
    bomb("functions of 49,000 locals", |n| functions_of_locals(n / 11)),
    bomb("50,000 locals and ifs", |n| one(50_000, &[], n / 13, ifs)),
    bomb("branches with 1,000 results", |n| one(1, &[results(1_000)], n / 4, branches_with_results)),
    bomb("loads that live at once", |n| one(1, &[], n / 6, live_loads)),
    bomb("tiny functions", |n| many(n / 4, |_| (Vec::new(), Vec::new()))),
    bomb("diamonds of 200 locals", |n| one(200, &[], n / 16, diamonds)),
    bomb("types", |n| many(n / 16, |number| (digits(number), Vec::new()))),
    bomb_in_every_run("calls of 1,000 results", |n| one(1, &[through(1_000)], n / 2, calls_of_results)),
    bomb("a straight line", |n| one(8, &[], n / 7, straight_line)),
    bomb("a chain of remainders", |n| one(8, &[], n / 6, remainders)),
    bomb("deep nesting", |n| one(1, &[], n / 3, deep_nesting)),
    bomb("branches out of each depth", |n| one(1, &[], n.min(90_000) / 9, branches_of_depth)),
    bomb("tables of branches", |n| one(1, &[], n / 110, branch_tables)),
    bomb("one table of branches", |n| one(1, &[], n, one_branch_table)),
];

type Signature = (Vec<ValType>, Vec<ValType>);

fn results(n: usize) -> Signature {
    (Vec::new(), vec![ValType::I32; n])
}

fn through(n: usize) -> Signature {
    (vec![ValType::I32; n], vec![ValType::I32; n])
}

/// Returns parameters that are unique to a number.
fn digits(number: usize) -> Vec<ValType> {
    let kinds = [ValType::I32, ValType::I64, ValType::F32, ValType::F64];
    (0..9).map(|index| kinds[(number >> (2 * index)) & 3]).collect()
}

/// Creates a module with one function with this many locals and a body written by `body`. Additional types are numbered
/// from 1.
fn one(n_locals: u32, types: &[Signature], n: usize, body: fn(&mut InstructionSink<'_>, u32)) -> Vec<u8> {
    let mut function = Function::new([(n_locals, ValType::I32)]);
    let mut sink = function.instructions();
    body(&mut sink, u32::try_from(n).unwrap());
    sink.end();
    let mut types_section = TypeSection::new();
    types_section.ty().function([], []);
    for (params, results) in types {
        types_section.ty().function(params.iter().copied(), results.iter().copied());
    }
    let mut functions = FunctionSection::new();
    let mut code = CodeSection::new();
    functions.function(0);
    code.function(&function);
    // One function of each additional type, as a call target.
    for (number, (_, results)) in (1..).zip(types) {
        functions.function(number);
        let mut called = Function::new([]);
        results.iter().for_each(|_| {
            called.instructions().i32_const(0);
        });
        called.instructions().end();
        code.function(&called);
    }
    whole(&types_section, &functions, &code)
}

fn whole(types: &TypeSection, functions: &FunctionSection, code: &CodeSection) -> Vec<u8> {
    let mut memories = MemorySection::new();
    memories.memory(MemoryType {
        minimum: 1,
        maximum: Some(1),
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    let mut exports = ExportSection::new();
    exports.export("evaluate", ExportKind::Func, 0);
    let mut module = Module::new();
    module.section(types).section(functions).section(&memories).section(&exports).section(code);
    module.finish()
}

/// Creates a module with this many functions of these types.
fn many(n: usize, signature: fn(usize) -> Signature) -> Vec<u8> {
    let (mut types, mut functions, mut code) =
        (TypeSection::new(), FunctionSection::new(), CodeSection::new());
    let is_one_type = signature(0) == signature(1);
    for number in 0..n {
        if number == 0 || !is_one_type {
            let (params, results) = signature(number);
            types.ty().function(params, results);
        }
        functions.function(if is_one_type { 0 } else { u32::try_from(number).unwrap() });
        let mut function = Function::new([]);
        function.instructions().end();
        code.function(&function);
    }
    whole(&types, &functions, &code)
}

fn functions_of_locals(n: usize) -> Vec<u8> {
    let mut types = TypeSection::new();
    types.ty().function([], []);
    let (mut functions, mut code) = (FunctionSection::new(), CodeSection::new());
    for _ in 0..n {
        functions.function(0);
        let mut function = Function::new([(49_000, ValType::I32)]);
        function.instructions().local_get(0).drop().end();
        code.function(&function);
    }
    whole(&types, &functions, &code)
}

fn nested_loops(sink: &mut InstructionSink<'_>, n: u32) {
    for depth in 0..n {
        sink.loop_(BlockType::Empty)
            .local_get(depth % 1_000)
            .i32_const(1)
            .i32_add()
            .local_set(depth * 7 % 1_000);
    }
    for depth in 0..n {
        sink.local_get(depth % 1_000).br_if(0).end();
    }
}

fn ifs(sink: &mut InstructionSink<'_>, n: u32) {
    for number in 0..n {
        sink.local_get(number % 50_000).if_(BlockType::Empty);
        sink.local_get(number * 7 % 50_000).local_set(number * 13 % 50_000).end();
    }
}

fn branches_with_results(sink: &mut InstructionSink<'_>, n: u32) {
    sink.block(BlockType::FunctionType(1));
    (0..1_000).for_each(|_| {
        sink.i32_const(1);
    });
    (0..n).for_each(|_| {
        sink.local_get(0).br_if(0);
    });
    sink.end();
    (0..1_000).for_each(|_| {
        sink.drop();
    });
}

fn live_loads(sink: &mut InstructionSink<'_>, n: u32) {
    for number in 0..n {
        sink.local_get(0).i32_load(MemArg { offset: u64::from(number % 100), align: 0, memory_index: 0 });
    }
    (1..n).for_each(|_| {
        sink.i32_add();
    });
    sink.drop();
}

fn diamonds(sink: &mut InstructionSink<'_>, n: u32) {
    for number in 0..n {
        sink.local_get(number % 200).if_(BlockType::Empty);
        sink.local_get(number * 7 % 200).local_set(number * 13 % 200).else_();
        sink.local_get(number * 3 % 200).local_set(number * 17 % 200).end();
    }
}

fn calls_of_results(sink: &mut InstructionSink<'_>, n: u32) {
    (0..1_000).for_each(|_| {
        sink.i32_const(1);
    });
    (0..n).for_each(|_| {
        sink.call(1);
    });
    (0..1_000).for_each(|_| {
        sink.drop();
    });
}

fn straight_line(sink: &mut InstructionSink<'_>, n: u32) {
    for number in 0..n {
        sink.local_get(number % 8).local_get(number * 3 % 8).i32_add().local_set(number * 5 % 8);
    }
}

fn remainders(sink: &mut InstructionSink<'_>, n: u32) {
    sink.local_get(0).i64_extend_i32_s();
    (0..n).for_each(|number| {
        sink.local_get(number % 8).i64_extend_i32_s().i64_rem_s();
    });
    sink.drop();
}

fn deep_nesting(sink: &mut InstructionSink<'_>, n: u32) {
    (0..n).for_each(|_| {
        sink.block(BlockType::Empty);
    });
    (0..n).for_each(|_| {
        sink.end();
    });
}

fn branches_of_depth(sink: &mut InstructionSink<'_>, n: u32) {
    (0..n).for_each(|_| {
        sink.block(BlockType::Empty);
    });
    (0..n).for_each(|depth| {
        sink.local_get(0).br_if(depth);
    });
    (0..n).for_each(|_| {
        sink.end();
    });
}

fn branch_tables(sink: &mut InstructionSink<'_>, n: u32) {
    for _ in 0..n {
        sink.block(BlockType::Empty).local_get(0).br_table(vec![0; 100], 0).end();
    }
}

fn one_branch_table(sink: &mut InstructionSink<'_>, n: u32) {
    sink.block(BlockType::Empty).local_get(0).br_table(vec![0; n as usize], 0).end();
}
