import { Page } from '../../parts/page.tsx';

export function CallPage() {
  return <Page title="…">{null}</Page>;
}
