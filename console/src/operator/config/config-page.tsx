import { Page } from '../../parts/page.tsx';

export function ConfigPage() {
  return <Page title="…">{null}</Page>;
}
