import { Page } from '../../parts/page.tsx';

export function LivePage() {
  return <Page title="…">{null}</Page>;
}
