rule Stages {
  when stage in ("Settled", "applied") and stage != "held"
   and distinct(stage when $current.stage == stage and source == $current.source, "P1D") > 1
   and previous_transaction(within: "P1D", match: { stage: "chargeback" })
  then review
}
