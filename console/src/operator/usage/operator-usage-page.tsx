import { Page } from '../../parts/page.tsx';

export function OperatorUsagePage() {
  return <Page title="…">{null}</Page>;
}
