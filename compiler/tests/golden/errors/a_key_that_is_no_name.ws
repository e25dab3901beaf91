rule R {
  when metadata.device-id == "d-1" and metadata.card.device-name.first != 1 and metadata.3ds_result == 1 and metadata.größe == 1
  then review
}
