/** Everyday prose in several languages. */
const paragraphs: Readonly<Record<string, string>> = {
  English:
    'The ferry left the harbour at half past six, when the fog was still lying on the water. Margaret had bought two tickets, one for herself and one for the letter that she meant to deliver by hand. Nobody on board spoke; the engine was loud enough for everybody. By noon the islands came in sight, grey at first and then, as the sun broke through, a green so bright that it looked painted.',
  Chinese:
    '渡船在六点半离开港口，那时水面上还笼罩着雾。王老师买了两张票，一张给自己，一张给她打算亲手送去的那封信。船上没有人说话，发动机的声音已经足够大了。到了中午，远处的岛屿出现在眼前，起初是灰色的，后来太阳照进来，绿得像刚刚画上去的一样。',
  Japanese:
    '渡し船は六時半に港を出た。水面にはまだ霧がかかっていた。彼女は切符を二枚買った。一枚は自分のため、もう一枚は直接届けるつもりの手紙のためだった。船の上では誰も話さなかった。昼ごろになると島々が見えてきて、初めは灰色だったが、日が差すと絵のように鮮やかな緑になった。',
  Korean:
    '나룻배는 여섯 시 반에 항구를 떠났고 물 위에는 아직 안개가 끼어 있었다. 그녀는 표를 두 장 샀는데, 하나는 자신을 위한 것이고 다른 하나는 직접 전하려는 편지를 위한 것이었다. 배 위에서는 아무도 말하지 않았다. 정오 무렵 섬들이 보이기 시작했다.',
  German:
    'Die Fähre verließ den Hafen um halb sieben, als der Nebel noch auf dem Wasser lag. Margarete hatte zwei Fahrkarten gekauft, eine für sich und eine für den Brief, den sie selbst überbringen wollte. Niemand an Bord sprach; der Motor war laut genug für alle. Gegen Mittag kamen die Inseln in Sicht, zuerst grau und dann so grün, als wären sie gemalt.',
  French:
    'Le bac quitta le port à six heures et demie, alors que le brouillard couvrait encore l’eau. Marguerite avait acheté deux billets, l’un pour elle et l’autre pour la lettre qu’elle voulait remettre en mains propres. Personne ne parlait à bord ; le moteur faisait assez de bruit pour tous. Vers midi, les îles apparurent, grises d’abord, puis d’un vert si vif qu’on les aurait crues peintes.',
  Spanish:
    'El transbordador salió del puerto a las seis y media, cuando la niebla todavía cubría el agua. Margarita había comprado dos billetes, uno para ella y otro para la carta que pensaba entregar en persona. Nadie hablaba a bordo; el motor hacía ruido por todos. Al mediodía aparecieron las islas, primero grises y después tan verdes que parecían pintadas.',
  Russian:
    'Паром вышел из гавани в половине седьмого, когда над водой ещё лежал туман. Маргарита купила два билета: один для себя, другой для письма, которое она хотела передать лично. На борту никто не разговаривал, мотор шумел за всех. К полудню показались острова, сначала серые, а потом такие зелёные, будто их нарисовали.',
  Arabic:
    'غادرت العبّارة الميناء في السادسة والنصف، وكان الضباب لا يزال على الماء. اشترت مريم تذكرتين، واحدة لها وأخرى للرسالة التي أرادت أن تسلمها بيدها. لم يتكلم أحد على متن المركب، فقد كان صوت المحرك كافيا للجميع. وعند الظهر ظهرت الجزر، رمادية أولا ثم خضراء كأنها مرسومة.',
  Hindi:
    'नाव साढ़े छह बजे बंदरगाह से निकली, जब पानी पर अभी भी कोहरा था। उसने दो टिकट खरीदे थे, एक अपने लिए और एक उस चिट्ठी के लिए जिसे वह खुद पहुँचाना चाहती थी। नाव पर कोई नहीं बोला। दोपहर तक द्वीप दिखाई देने लगे, पहले धुंधले और फिर धूप में बहुत हरे।',
};

const PARAGRAPHS = 40;

/** A long text in each language. Paragraphs are numbered, so that no two are equal. */
export const languages: readonly { readonly language: string; readonly text: string }[] = Object.entries(
  paragraphs,
).map(([language, paragraph]) => ({
  language,
  text: Array.from({ length: PARAGRAPHS }, (_, i) => `${i + 1}. ${paragraph}`).join('\n\n'),
}));
