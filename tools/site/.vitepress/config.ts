import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { chineseSidebar, englishSidebar } from './navigation.ts';
import { linkOf, otherFiles, pages, placeOf, ROOT } from './places.ts';

/** The site of the documents: `npm run docs`. The pages are the Markdown files of the repository as they are. */

const OUTSIDE = /^(?:[a-z]+:|\/\/)/i;
const fileOfPlace = new Map(pages.map((file) => [placeOf(file), file]));

export default defineConfig({
  title: 'Faregate',
  description: 'A metered gateway in front of model providers.',
  // Browsers would ask for /favicon.ico, which is not there.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  srcDir: ROOT,
  srcExclude: [...otherFiles],
  outDir: join(ROOT, 'docs/.site'),
  cacheDir: join(ROOT, 'node_modules/.cache/docs'),
  rewrites: Object.fromEntries(pages.map((file) => [file, placeOf(file)])),
  lastUpdated: false,
  metaChunk: true,
  themeConfig: {
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          options: {
            // Chinese has no spaces between words: each character is one, and so is each pair.
            tokenize: (text) =>
              text
                .split(/[\s\p{P}\p{S}]+/u)
                .flatMap((word) => [
                  ...word.split(/\p{Script=Han}+/u),
                  ...(word.match(/\p{Script=Han}+/gu) ?? []).flatMap((run) =>
                    [...run].flatMap((each, index, all) => (index === 0 ? [each] : [each, all[index - 1] + each])),
                  ),
                ])
                .filter((word) => word !== ''),
          },
        },
        locales: {
          zh: {
            translations: {
              button: { buttonText: '搜索', buttonAriaLabel: '搜索' },
              modal: {
                displayDetails: '显示详情',
                resetButtonTitle: '清除',
                backButtonTitle: '关闭',
                noResultsText: '没有结果：',
                footer: { selectText: '选择', navigateText: '切换', closeText: '关闭' },
              },
            },
          },
        },
      },
    },
  },
  locales: {
    root: { label: 'English', lang: 'en', themeConfig: { sidebar: englishSidebar(titleOf) } },
    zh: {
      label: '简体中文',
      lang: 'zh-CN',
      description: '面向模型供应商的计量网关。',
      themeConfig: {
        sidebar: chineseSidebar(titleOf),
        outline: { label: '本页内容' },
        docFooter: { prev: '上一页', next: '下一页' },
        langMenuLabel: '切换语言',
        returnToTopLabel: '回到顶部',
        sidebarMenuLabel: '目录',
        darkModeSwitchLabel: '外观',
        lightModeSwitchTitle: '切换到浅色',
        darkModeSwitchTitle: '切换到深色',
        skipToContentLabel: '跳到正文',
      },
    },
  },
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: anchorOf },
    config(md) {
      md.core.ruler.push('repository-links', (state) => {
        const file = fileOfPlace.get(state.env.relativePath);
        if (file === undefined) return;
        const kept: boolean[] = [];
        for (const token of state.tokens.flatMap(({ children }) => children ?? [])) {
          if (token.type === 'link_close' && kept.pop() === false) token.tag = 'span';
          if (token.type !== 'link_open') continue;
          const target = token.attrGet('href') ?? '';
          const link = OUTSIDE.test(target) ? target : linkOf(file, target);
          kept.push(link !== null);
          if (link !== null) token.attrSet('href', link);
          else turnIntoText(token);
        }
      });
      // Images stand beside the file, not beside its place on the site.
      md.core.ruler.push('repository-images', (state) => {
        const file = fileOfPlace.get(state.env.relativePath);
        if (file === undefined) return;
        for (const token of state.tokens.flatMap(({ children }) => children ?? [])) {
          const source = token.type === 'image' ? (token.attrGet('src') ?? '') : '';
          if (source !== '' && !OUTSIDE.test(source)) token.attrSet('src', join(ROOT, file, '..', source));
        }
      });
    },
  },
  vite: {
    define: { CHINESE_PAGES: JSON.stringify(pages.map(placeOf).filter((place) => place.startsWith('zh/')).map((place) => place.replace(/(index)?\.md$/, ''))) },
    logLevel: 'warn',
  },
});

function turnIntoText(token: { tag: string; attrs: [string, string][] | null; type: string }): void {
  token.tag = 'span';
  token.attrs = null;
}

/** The title of a page is its first heading. */
function titleOf(file: string): string {
  return (/^# (.*)$/m.exec(readFileSync(join(ROOT, file), 'utf8'))?.[1] ?? file).replaceAll('`', '');
}

/** The anchor that a heading has on the usual hosts. */
function anchorOf(heading: string): string {
  return heading.trim().toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(/\s/g, '-');
}
