import { Page } from '../../parts/page.tsx';

export function PlanPage() {
  return <Page title="…">{null}</Page>;
}
