"""Sentences of seven languages from which the corpus is written."""

SENTENCES = {
    "en": [
        "The ferry leaves the harbour at dawn and returns before the market closes.",
        "Our budget for repairs grew by a third after the long winter.",
        "Nobody expected the old bridge to carry so many lorries each day.",
        "A careful reader compares the second table with the first appendix.",
        "Every volunteer receives a map, a lamp and a bottle of water.",
        "The committee postponed its decision until the figures are complete.",
        "Rain fell on the valley for nine days without a pause.",
        "Small farms deliver their apples directly to the schools nearby.",
        "The museum keeps its letters in boxes made of grey cardboard.",
        "Engineers measured the noise at four places along the railway.",
    ],
    "de": [
        "Die Fähre verlässt den Hafen früh und kehrt erst abends zurück.",
        "Für größere Reparaturen fehlt dem Verein seit Jahren das Geld.",
        "Niemand wusste, weshalb die Brücke im März gesperrt worden war.",
        "Der Ausschuss prüft die Zahlen und berichtet im nächsten Herbst.",
        "Kleine Höfe liefern ihre Äpfel unmittelbar an Schulen in der Nähe.",
        "Auf dem Dachboden lagen Briefe, Karten und ein rostiger Schlüssel.",
        "Die Straße führt über drei Hügel bis an den Fluss hinunter.",
        "Nach neun Tagen Regen war das ganze Tal überschwemmt.",
    ],
    "zh": [
        "渡船清晨离开港口,傍晚以前返回。",
        "今年的维修预算比去年增加了三分之一。",
        "委员会决定等数据完整以后再讨论这个问题。",
        "附近的学校每周都会收到农场送来的苹果。",
        "博物馆把旧信件保存在灰色的纸盒里。",
        "工程师在铁路沿线的四个地点测量了噪音。",
        "山谷里连续下了九天的雨,河水涨得很高。",
        "每位志愿者都会领到一张地图和一瓶水。",
    ],
    "ja": [
        "フェリーは夜明けに港を出て、市場が閉まる前に戻ります。",
        "修理の予算は長い冬のあとで三割ほど増えました。",
        "委員会は数字がそろうまで決定を延期しました。",
        "近くの学校には毎週りんごが届けられます。",
        "博物館は古い手紙を灰色の箱に保管しています。",
        "技術者は線路沿いの四か所で騒音を測定しました。",
        "谷では九日間も雨が降り続きました。",
        "参加者には地図と水が配られます。",
    ],
    "ko": [
        "여객선은 새벽에 항구를 떠나 시장이 닫히기 전에 돌아옵니다.",
        "긴 겨울이 지나고 수리 예산이 크게 늘었습니다.",
        "위원회는 숫자가 모두 모일 때까지 결정을 미루었습니다.",
        "가까운 학교에는 매주 사과가 배달됩니다.",
        "박물관은 오래된 편지를 회색 상자에 보관합니다.",
        "기술자들은 철길을 따라 네 곳에서 소음을 측정했습니다.",
        "골짜기에는 아흐레 동안 비가 내렸습니다.",
        "모든 봉사자는 지도와 물 한 병을 받습니다.",
    ],
    "ar": [
        "تغادر العبارة الميناء عند الفجر وتعود قبل إغلاق السوق.",
        "زادت ميزانية الصيانة كثيرا بعد الشتاء الطويل.",
        "قررت اللجنة تأجيل النقاش حتى تكتمل الأرقام.",
        "تصل صناديق التفاح إلى المدارس القريبة كل أسبوع.",
        "يحفظ المتحف الرسائل القديمة في علب رمادية.",
        "قاس المهندسون الضجيج في أربعة مواقع قرب السكة.",
        "هطل المطر على الوادي تسعة أيام دون توقف.",
        "يحصل كل متطوع على خريطة ومصباح وزجاجة ماء.",
    ],
    "ru": [
        "Паром уходит из гавани на рассвете и возвращается вечером.",
        "После долгой зимы расходы на ремонт выросли на треть.",
        "Комиссия отложила решение, пока не будут готовы все цифры.",
        "Небольшие хозяйства каждую неделю привозят яблоки в школы.",
        "Музей хранит старые письма в серых картонных коробках.",
        "Инженеры измерили шум в четырёх местах вдоль железной дороги.",
        "В долине девять дней подряд шёл дождь.",
        "Каждый доброволец получает карту, фонарь и бутылку воды.",
    ],
}

TITLES = {
    "en": ["Harbour report", "Costs and income", "What comes next"],
    "de": ["Bericht zum Hafen", "Kosten und Erlöse", "Wie es weitergeht"],
    "zh": ["港口报告", "成本与收入", "下一步计划"],
    "ja": ["港の報告", "費用と収入", "今後の予定"],
    "ko": ["항구 보고서", "비용과 수입", "다음 계획"],
    "ar": ["تقرير الميناء", "التكاليف والدخل", "الخطوات القادمة"],
    "ru": ["Отчёт о гавани", "Расходы и доходы", "Что дальше"],
}

# The first names have two signs: a PDF reader without fonts of its own loses a sign that
# stands alone in a font the file does not bring along.
COLUMNS = {
    "en": ["Month", "Visitors", "Income"],
    "de": ["Monat", "Gäste", "Erlös"],
    "zh": ["月份", "游客", "收入"],
    "ja": ["月別", "来客", "収入"],
    "ko": ["월별", "방문객", "수입"],
    "ar": ["الشهر", "الزوار", "الدخل"],
    "ru": ["Месяц", "Гости", "Доход"],
}

ROWS = {
    "en": ["January", "February", "March", "April", "May", "June"],
    "de": ["Januar", "Februar", "März", "April", "Mai", "Juni"],
    "zh": ["一月", "二月", "三月", "四月", "五月", "六月"],
    "ja": ["睦月", "如月", "弥生", "卯月", "皐月", "水無月"],
    "ko": ["일월", "이월", "삼월", "사월", "오월", "유월"],
    "ar": ["يناير", "فبراير", "مارس", "أبريل", "مايو", "يونيو"],
    "ru": ["Январь", "Февраль", "Март", "Апрель", "Май", "Июнь"],
}
