import type { JSX } from "preact";
import { listRules } from "../../api/rules";
import { stats } from "../../api/system";
import { useResource } from "../../states/resource";
import { LatencyChart, VerdictChart } from "./charts";
import { FirstPayment } from "./first_payment";
import { Headline } from "./headline";
import { LiveFeed } from "./live_feed";
import { RuleWatch } from "./rule_watch";

const HOURS = 24;

export function OverviewPage(): JSX.Element {
  const verdicts = useResource("stats-verdict", signal => stats("verdict", HOURS, signal), { everyMs: 30_000 });
  const rules = useResource("rules", listRules, { everyMs: 30_000, onRules: true });
  const isEmpty = verdicts.data.value?.series.every(({ values }) => values.every(value => value === 0)) === true;
  return (
    <div class="page overview">
      <h1 tabIndex={-1}>Overview</h1>
      <Headline stats={verdicts} rules={rules} />
      <FirstPayment isQuiet={isEmpty} />
      <div class="panels">
        <section class="panel">
          <h2>Verdicts per minute</h2>
          <VerdictChart stats={verdicts} />
        </section>
        <section class="panel">
          <h2>Latency of requests</h2>
          <LatencyChart stats={verdicts} />
        </section>
        <RuleWatch rules={rules} />
      </div>
      <LiveFeed rules={rules} />
    </div>
  );
}
