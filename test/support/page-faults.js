/**
 * Runs in a page of the console (`page-faults.ts`). Finds what a person who looks at the page would notice without knowing it: a page that
 * is wider than the window, text that is cut off or covered, words that no person writes, and text in the other language.
 */
globalThis.findPageFaults = (language) => {
  /** Differences below this are rounding, and serifs that reach into the next letter. */
  const SLACK_PX = 3;
  const faults = new Set();
  const short = (text) => (text.length > 60 ? `${text.slice(0, 60)}…` : text);

  const overhangPx = document.documentElement.scrollWidth - window.innerWidth;
  if (overhangPx > 0) faults.add(`the page is ${overhangPx} px wider than the window`);
  const dialog = document.querySelector('[role="dialog"]');
  if (dialog !== null && !fits(dialog.getBoundingClientRect())) faults.add('the dialog does not fit the window');
  const main = dialog ?? document.querySelector('main');
  if (main.innerText.replaceAll(/\s/g, '').length < 30) faults.add('the page is blank');

  const pieces = visibleTexts(main);
  for (const { text, element, rects } of pieces) {
    if (/\bundefined\b|\bNaN\b|\[object |Invalid Date/.test(text)) faults.add(`not a word: ${short(text)}`);
    if (isInOtherLanguage(text, element)) faults.add(`not in this language: ${short(text)}`);
    if (rects.some((rect) => isCut(rect, element))) faults.add(`cut off: ${short(text)}`);
  }
  const shown = pieces.flatMap((piece) => piece.rects.map((rect) => ({ ...piece, rect: within(rect, piece.box) })));
  const controls = [...main.querySelectorAll('button, a, input, select, textarea, [role="tab"], label')]
    .filter((element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
    .map((element) => ({ text: element.getAttribute('aria-label') ?? element.tagName, element }))
    .map((each) => ({ ...each, rect: within(each.element.getBoundingClientRect(), boxOf(each.element)) }));
  for (const [index, one] of shown.entries()) {
    for (const other of [...shown.slice(index + 1), ...controls]) {
      if (other.element.contains(one.element) || one.element.contains(other.element)) continue;
      // A unit within an input, such as ¥.
      if (other.element.parentElement.contains(one.element) && other.element.tagName === 'INPUT') continue;
      if (overlap(one.rect, other.rect)) faults.add(`overlap: ${short(one.text)} | ${short(other.text)}`);
    }
  }
  return [...faults];

  /** Pieces of text that are drawn, each with its rectangles and the part of the page in which it can be seen. */
  function visibleTexts(root) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const found = [];
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const text = node.textContent.trim();
      const element = node.parentElement;
      if (text === '' || element.closest('style, script, .cm-editor, [aria-hidden="true"]') !== null) continue;
      if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      const rects = [...range.getClientRects()].filter(({ width, height }) => width > 1 && height > 1);
      const box = boxOf(element);
      // Text for screen readers alone is in a box of one pixel.
      if (rects.length > 0 && !box.isTiny) found.push({ text, element, rects, box });
    }
    return found;
  }

  /** Where an element can be seen: what its ancestors do not clip. One that scrolls, or ends in an ellipsis, stands for its content. */
  function boxOf(element) {
    const box = { left: -Infinity, right: Infinity, top: -Infinity, bottom: Infinity, isTiny: false };
    for (const { rect } of clippingAncestors(element)) {
      if (rect.width <= 1 || rect.height <= 1) box.isTiny = true;
      box.left = Math.max(box.left, rect.left);
      box.right = Math.min(box.right, rect.right);
      box.top = Math.max(box.top, rect.top);
      box.bottom = Math.min(box.bottom, rect.bottom);
    }
    return box;
  }

  function fits({ left, right, top, bottom }) {
    return left >= -1 && top >= -1 && right <= window.innerWidth + 1 && bottom <= window.innerHeight + 1;
  }

  function isCut(textRect, element) {
    let seen = textRect;
    for (const { rect, isMeant } of clippingAncestors(element)) {
      if (isMeant) seen = rect;
      else if (seen.right > rect.right + SLACK_PX || seen.left < rect.left - SLACK_PX) return true;
    }
    return seen.right > window.innerWidth + SLACK_PX || seen.left < -SLACK_PX;
  }

  function clippingAncestors(element) {
    const found = [];
    for (let at = element; at !== null && at !== document.documentElement; at = at.parentElement) {
      const { overflowX, overflowY, textOverflow, webkitLineClamp } = getComputedStyle(at);
      if (overflowX === 'visible' && overflowY === 'visible') continue;
      const isMeant =
        ['auto', 'scroll'].includes(overflowX) || textOverflow === 'ellipsis' || webkitLineClamp !== 'none';
      found.push({ rect: at.getBoundingClientRect(), isMeant });
    }
    return found;
  }

  function within(rect, box) {
    const top = Math.max(rect.top, box.top);
    const bottom = Math.min(rect.bottom, box.bottom);
    // Lines of a paragraph are closer than the heights of their letters' boxes.
    const insetPx = Math.max(0, bottom - top) * 0.2;
    return {
      left: Math.max(rect.left, box.left),
      right: Math.min(rect.right, box.right),
      top: top + insetPx,
      bottom: bottom - insetPx,
    };
  }

  function overlap(one, other) {
    const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
    const height = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
    return width > SLACK_PX && height > SLACK_PX;
  }

  /** Names, code and what somebody entered have no language. */
  function isInOtherLanguage(text, element) {
    if (element.closest('code, pre, [lang]:not(html), [translate="no"]') !== null) return false;
    const han = /\p{Script=Han}/u;
    return language === 'en'
      ? han.test(text)
      : !han.test(text) && /[A-Za-z]{2,}[ ,] ?[a-z]{2,}[ ,] ?[a-z]{2,}/.test(text);
  }
};
