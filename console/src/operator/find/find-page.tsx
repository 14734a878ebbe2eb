import { Page } from '../../parts/page.tsx';

export function FindPage() {
  return <Page title="…">{null}</Page>;
}
