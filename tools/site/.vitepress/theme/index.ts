import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import './style.css';

declare const CHINESE_PAGES: readonly string[];

const theme: Theme = {
  extends: DefaultTheme,
  enhanceApp({ router, siteData }) {
    // The switch of the language leads to the same page in Chinese; where there is none, the first page is better than nothing.
    router.onBeforeRouteChange = (to) => {
      const path = new URL(to, 'http://site').pathname.slice(siteData.value.base.length);
      if (!path.startsWith('zh/') || CHINESE_PAGES.includes(path.replace(/\.html$/, ''))) return true;
      void router.go(`${siteData.value.base}zh/`);
      return false;
    };
  },
};

// biome-ignore lint/style/noDefaultExport: the generator asks for it
export default theme;
