rule R {
  when meta_data.a.b == metadata.c and created_at == timestamp
  then review
}
