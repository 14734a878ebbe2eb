import { Page } from '../../parts/page.tsx';

export function UnresolvedPage() {
  return <Page title="…">{null}</Page>;
}
