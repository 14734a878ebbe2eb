import { Page } from '../../parts/page.tsx';

export function AllCallsPage() {
  return <Page title="…">{null}</Page>;
}
