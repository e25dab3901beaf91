//! Modules stored under every ABI version are still admitted.

use tollgate_engine::sandbox::Sandbox;

#[test]
fn the_module_of_version_1_is_still_admitted() -> anyhow::Result<()> {
    let module = Sandbox::new()?.admit(include_bytes!("../../guest-abi/fixtures/abi-1.wasm"))?;
    assert_eq!(module.manifest.abi_version, 1);
    Ok(())
}
