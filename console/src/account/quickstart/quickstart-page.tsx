import { Page } from '../../parts/page.tsx';

export function QuickstartPage() {
  return <Page title="…">{null}</Page>;
}
