rule R {
  when metadata.device.id == $current.metadata.device.id and meta_data.when.then.rule == "$current.metadata.a-b"
  then review
}
