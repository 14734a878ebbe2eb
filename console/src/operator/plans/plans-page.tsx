import { Page } from '../../parts/page.tsx';

export function PlansPage() {
  return <Page title="…">{null}</Page>;
}
