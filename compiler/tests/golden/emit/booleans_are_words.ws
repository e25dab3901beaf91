rule Golden {
    when inflight == true and metadata.flag != false and atomic == "true"
    then review score 0.5 reason "golden"
}
