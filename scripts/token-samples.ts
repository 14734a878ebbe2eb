/**
 * Texts to measure the accuracy of token estimates: nine languages, source code, and difficult cases for tokenizers. The sentences were
 * written for this purpose. A sample joins them in a fixed pseudo-random order, so every run produces the same text.
 */
export interface TokenSample {
  readonly kind: string;
  readonly text: string;
}

const SENTENCES: Readonly<Record<string, readonly string[]>> = {
  English: [
    "The ferry leaves at a quarter past six, and whoever misses it spends the night in the harbour's only inn.",
    'Before you change a setting, write down what it was; memory is a poor backup.',
    'Our neighbours planted forty-two apple trees, though nobody had asked them to.',
    "She didn't mind the rain so much as the people who wouldn't stop talking about it.",
    'In 1987 the bridge was closed for repairs that were meant to take three weeks and took eleven years.',
    'A good question saves an hour of work; a better one makes the work unnecessary.',
    'Please send the invoice (No. 20418) to the address below, and keep a copy for yourself.',
    'Nothing in the drawer was worth stealing except, perhaps, the drawer.',
  ],
  Chinese: [
    '早班的渡船六点一刻离岸，错过的人只好在码头旁的小旅馆里住上一夜。',
    '改设置之前，先把原来的值记下来，因为记性是最靠不住的备份。',
    '邻居家去年种了四十二棵苹果树，其实谁也没有请他们种。',
    '她并不怕下雨，怕的是那些没完没了谈论下雨的人。',
    '那座桥一九八七年封闭维修，说好三个星期，结果修了十一年。',
    '请把第20418号发票寄到下面的地址，并自己留一份复印件。',
    '抽屉里没有一样值得偷的东西，也许只有抽屉本身除外。',
  ],
  Japanese: [
    '始発のフェリーは六時十五分に出るので、乗り遅れた人は港の小さな宿に泊まるしかありません。',
    '設定を変える前に、元の値を書き留めておきましょう。記憶ほど頼りないバックアップはないからです。',
    '隣の家では、誰に頼まれたわけでもないのに、りんごの木を四十二本も植えました。',
    '彼女が苦手なのは雨ではなく、雨の話をいつまでもやめない人たちでした。',
    '請求書(20418番)を下記の住所に送り、コピーを一部手元に残してください。',
    'あの橋は三週間の予定で工事に入り、けっきょく十一年も閉じたままでした。',
  ],
  Korean: [
    '첫 배는 여섯 시 십오 분에 떠나므로, 놓친 사람은 항구의 작은 여관에서 하룻밤을 보내야 합니다.',
    '설정을 바꾸기 전에 원래 값을 적어 두세요. 기억만큼 믿기 어려운 백업도 없습니다.',
    '이웃집은 아무도 부탁하지 않았는데 사과나무를 마흔두 그루나 심었습니다.',
    '그녀가 싫어한 것은 비가 아니라 비 이야기를 멈추지 않는 사람들이었습니다.',
    '송장(20418번)을 아래 주소로 보내고 사본 한 부는 직접 보관하십시오.',
    '그 다리는 삼 주면 끝난다던 공사 때문에 십일 년 동안 닫혀 있었습니다.',
  ],
  Russian: [
    'Первый паром отходит в четверть седьмого, и опоздавшему приходится ночевать в единственной портовой гостинице.',
    'Прежде чем менять настройку, запишите её прежнее значение: память — плохая резервная копия.',
    'Соседи посадили сорок две яблони, хотя никто их об этом не просил.',
    'Её раздражал не столько дождь, сколько люди, которые без конца о нём говорили.',
    'В 1987 году мост закрыли на ремонт: обещали три недели, вышло одиннадцать лет.',
    'Пришлите счёт № 20418 по указанному ниже адресу и оставьте себе копию.',
  ],
  Arabic: [
    'تغادر العبّارة الأولى في السادسة والربع، ومن تفوته يقضي ليلته في النزل الوحيد قرب الميناء.',
    'قبل أن تغيّر أي إعداد اكتب قيمته السابقة، فالذاكرة نسخة احتياطية ضعيفة.',
    'زرع جيراننا اثنتين وأربعين شجرة تفاح مع أن أحداً لم يطلب منهم ذلك.',
    'لم يكن المطر ما يزعجها، بل أولئك الذين لا يكفّون عن الحديث عنه.',
    'أُغلق الجسر عام 1987 لإصلاح قيل إنه يستغرق ثلاثة أسابيع فدام أحد عشر عاماً.',
    'أرسلوا الفاتورة رقم 20418 إلى العنوان أدناه واحتفظوا بنسخة منها.',
  ],
  Hindi: [
    'पहली नाव सवा छह बजे निकलती है, और जिसकी छूट जाए उसे बंदरगाह की छोटी सराय में रात बितानी पड़ती है।',
    'कोई भी सेटिंग बदलने से पहले उसका पुराना मान लिख लीजिए, क्योंकि याददाश्त पर भरोसा करना ठीक नहीं।',
    'हमारे पड़ोसियों ने सेब के बयालीस पेड़ लगाए, जबकि किसी ने उनसे कहा नहीं था।',
    'उसे बारिश से उतनी परेशानी नहीं थी जितनी उन लोगों से जो बारिश की बातें करते नहीं थकते थे।',
    'पुल 1987 में तीन हफ़्ते की मरम्मत के लिए बंद हुआ और ग्यारह साल बंद रहा।',
    'कृपया बिल संख्या 20418 नीचे दिए पते पर भेजें और एक प्रति अपने पास रखें।',
  ],
  Spanish: [
    'El primer transbordador sale a las seis y cuarto, y quien lo pierde pasa la noche en la única posada del puerto.',
    'Antes de cambiar un ajuste, anota el valor anterior: la memoria es una pésima copia de seguridad.',
    'Los vecinos plantaron cuarenta y dos manzanos sin que nadie se lo hubiera pedido.',
    'No le molestaba tanto la lluvia como la gente que no dejaba de hablar de ella.',
    '¿Sabías que el puente cerró en 1987 por unas obras de tres semanas y reabrió once años después?',
    'Envíe la factura n.º 20418 a la dirección que figura abajo y conserve una copia.',
  ],
  German: [
    'Die erste Fähre legt um Viertel nach sechs ab; wer sie verpasst, übernachtet im einzigen Gasthof am Hafen.',
    'Bevor man eine Einstellung ändert, schreibt man den alten Wert auf, denn das Gedächtnis ist eine schlechte Sicherungskopie.',
    'Unsere Nachbarn haben zweiundvierzig Apfelbäume gepflanzt, obwohl niemand sie darum gebeten hatte.',
    'Der Regen störte sie weniger als die Leute, die nicht aufhörten, darüber zu reden.',
    'Die Brückeninstandsetzungsarbeiten sollten 1987 drei Wochen dauern und dauerten elf Jahre.',
    'Schicken Sie die Rechnung Nr. 20418 bitte an die untenstehende Anschrift und behalten Sie eine Abschrift.',
  ],
  'Source code': [
    'export function clamp(value: number, low: number, high: number): number {\n  return Math.min(high, Math.max(low, value));\n}\n',
    'for (let i = 0; i < rows.length; i++) {\n\tif (rows[i]?.isOpen !== true) continue;\n\ttotal += rows[i].amount * 1_000; // in thousandths\n}\n',
    'def parse_line(line: str) -> tuple[str, int]:\n    """Splits `name=42` at the equals sign."""\n    name, _, raw = line.partition("=")\n    return name.strip(), int(raw or 0)\n',
    "SELECT account_id, sum(amount) AS total FROM ledger WHERE created_at >= now() - interval '7 days' GROUP BY 1;\n",
    '#include <stdio.h>\n\nint main(void) {\n    printf("%d\\n", 0x1F & ~7);\n    return 0;\n}\n',
    'if err := srv.Shutdown(ctx); err != nil && !errors.Is(err, http.ErrServerClosed) {\n\t\treturn fmt.Errorf("shutdown: %w", err)\n\t}\n',
    '<ul class="menu">\n  <li><a href="/docs/index.html">Docs</a></li>\n</ul>\n',
  ],
  Emoji: ['😀😃😄 ', '👩‍🚀🧑🏽‍🔬 ', '🏳️‍🌈🇨🇳🇪🇺 ', 'Done! 🎉🎉🎉\n', '👍🏿 ok ✅ → ❤️‍🔥 ', '🙈🙉🙊', '🍏🍎🍐 are fruit. '],
  'Special-token text': [
    '<|endoftext|>',
    ' <|im_start|>system<|im_sep|>',
    'Never print <|endofprompt|> twice.',
    '<|fim_prefix|>a<|fim_suffix|>',
    '<|im_end|>\n',
    '<|start|>assistant<|channel|>final<|message|>',
  ],
};

const SAMPLE_CHARS_MIN = 4_000;

export function tokenSamples(): TokenSample[] {
  const written = Object.entries(SENTENCES).map(([kind, sentences]) => {
    const between = kind === 'Source code' ? '\n' : /Chinese|Japanese|Emoji|Special/.test(kind) ? '' : ' ';
    return { kind, text: stringTogether(sentences, between) };
  });
  return [
    ...written,
    { kind: 'JSON', text: JSON.stringify(records(60)) },
    { kind: 'JSON, indented', text: JSON.stringify(records(40), null, 2) },
    { kind: 'Base64, random bytes', text: base64(12_000) },
    { kind: 'Base64 in lines', text: base64(6_000).replaceAll(/.{76}/g, '$&\r\n') },
    { kind: 'Markdown table', text: `| a | b |\n|---|---|\n${'| 12.50 | `x_y` |\n'.repeat(150)}` },
    { kind: 'One letter, 6,000 times', text: 'a'.repeat(6_000) },
    { kind: 'Spaces, 6,000', text: ' '.repeat(6_000) },
  ];
}

/** Runs just above 8,192 bytes, which are cut. The plain encoder would take minutes for a megabyte. */
export function longRuns(): TokenSample[] {
  return [
    { kind: 'One letter', text: 'a'.repeat(20_000) },
    { kind: 'Spaces', text: ' '.repeat(20_000) },
    { kind: 'Line breaks', text: '\n'.repeat(20_000) },
    { kind: 'One Chinese character', text: '中'.repeat(7_000) },
    { kind: 'One emoji', text: '😀'.repeat(5_000) },
    { kind: 'Random small letters', text: randomLetters(20_000) },
  ];
}

function stringTogether(sentences: readonly string[], between: string): string {
  const next = numbers(sentences.length);
  const parts: string[] = [];
  for (let chars = 0; chars < SAMPLE_CHARS_MIN; chars += parts.at(-1)!.length) {
    parts.push(sentences[Math.floor(next() * sentences.length)]!);
  }
  return parts.join(between);
}

function records(count: number): unknown[] {
  const next = numbers(count);
  return Array.from({ length: count }, (_, index) => ({
    id: `rec_${Math.floor(next() * 2 ** 32).toString(16)}`,
    index,
    amount: Math.floor(next() * 1e6) / 100,
    isOpen: next() < 0.5,
    tags: ['north', 'ünïcode', '北'].slice(Math.floor(next() * 3)),
    note: next() < 0.3 ? null : 'Call back "soon"\nbefore noon',
  }));
}

function base64(sizeBytes: number): string {
  const next = numbers(sizeBytes);
  return Buffer.from(Array.from({ length: sizeBytes }, () => Math.floor(next() * 256))).toString('base64');
}

function randomLetters(count: number): string {
  const next = numbers(count);
  return Array.from({ length: count }, () => String.fromCharCode(0x61 + Math.floor(next() * 26))).join('');
}

/** A linear congruential generator of numbers in [0, 1). */
function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
