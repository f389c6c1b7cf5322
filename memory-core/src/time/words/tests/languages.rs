//! Times in other languages than English, and what looks like one.

use proptest::prelude::*;

use super::{TimeWords, Timestamp, check};

const TODAY: &str = "2023-05-10..2023-05-11";
const YESTERDAY: &str = "2023-05-09..2023-05-10";
const TWO_DAYS_AGO: &str = "2023-05-08..2023-05-09";
const THREE_DAYS_AGO: &str = "2023-05-07..2023-05-08";
const MAY_7: &str = THREE_DAYS_AGO;
const FRIDAY: &str = "2023-05-05..2023-05-06";
const LAST_NIGHT: &str = "2023-05-09T18:00:00Z..2023-05-10T06:00:00Z";
const THIS_WEEK: &str = "2023-05-08..2023-05-15";
const LAST_WEEK: &str = "2023-05-01..2023-05-08";
const TUESDAY_OF_LAST_WEEK: &str = "2023-05-02..2023-05-03";
const WEEKEND: &str = "2023-05-06..2023-05-08";
const LAST_MONTH: &str = "2023-04-01..2023-05-01";
const LAST_YEAR: &str = "2022-01-01..2023-01-01";
const THIS_YEAR: &str = "2023-01-01..2024-01-01";
const MARCH: &str = "2023-03-01..2023-04-01";
const MARCH_OF_LAST_YEAR: &str = "2022-03-01..2022-04-01";
const TWO_WEEKS_AGO: &str = "2023-04-23..2023-04-30";
const A_WEEK_AGO: &str = "2023-04-30..2023-05-07";
const A_FEW_DAYS_AGO: &str = "2023-05-04..2023-05-09";
const PAST_THREE_DAYS: &str = "2023-05-07T18:30:00Z..2023-05-10T18:30:00.001Z";
const SINCE_MONDAY: &str = "2023-05-08..";
const BEFORE_TUESDAY: &str = "..2023-05-09";
const UNTIL_FRIDAY: &str = "..2023-05-06";
const AFTER_MAY_7: &str = "2023-05-08..";
const MARCH_TO_APRIL: &str = "2023-03-01..2023-05-01";

/// Texts that name one time each.
fn name(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        check(text, &[expected]);
    }
}

/// Texts that name no time.
fn name_none(texts: &[&str]) {
    for text in texts {
        check(text, &[]);
    }
}

#[test]
fn german() {
    name(&[
        ("Was habe ich heute gegessen?", TODAY),
        ("Wer hat gestern angerufen?", YESTERDAY),
        ("Gestern Abend rief Anna an.", YESTERDAY),
        ("was wir vorgestern besprochen haben", TWO_DAYS_AGO),
        ("in der letzten Nacht", LAST_NIGHT),
        ("Letzte Woche sprachen wir über den Umzug", LAST_WEEK),
        ("in der vergangenen Woche", LAST_WEEK),
        ("diese Woche", THIS_WEEK),
        ("im letzten Monat", LAST_MONTH),
        ("letztes Jahr", LAST_YEAR),
        ("in diesem Jahr", THIS_YEAR),
        ("letztes Wochenende", WEEKEND),
        ("vorletzte Woche", "2023-04-24..2023-05-01"),
        ("in den letzten drei Tagen", PAST_THREE_DAYS),
        ("vor drei Tagen", THREE_DAYS_AGO),
        ("vor 2 Wochen", TWO_WEEKS_AGO),
        ("vor einer Woche", A_WEEK_AGO),
        ("vor acht Tagen", A_WEEK_AGO),
        ("vor ein paar Tagen", A_FEW_DAYS_AGO),
        ("letzten Dienstag", YESTERDAY),
        ("am Freitag", FRIDAY),
        ("letzte Woche Dienstag", TUESDAY_OF_LAST_WEEK),
        ("seit Montag", SINCE_MONDAY),
        ("vor Dienstag", BEFORE_TUESDAY),
        ("bis Freitag", UNTIL_FRIDAY),
        ("nach dem 7. Mai", AFTER_MAY_7),
        ("im März", MARCH),
        ("März", MARCH),
        ("im März 2023", MARCH),
        ("im März letzten Jahres", MARCH_OF_LAST_YEAR),
        ("am Sonntag, den 7. Mai 2023", MAY_7),
        ("zwischen März und April", MARCH_TO_APRIL),
        ("im Jahr 2022", LAST_YEAR),
        ("vom 3. bis 5. Mai", "2023-05-03..2023-05-06"),
    ]);
    name_none(&[
        "Ich war hier und habe gewartet.",
        "Guten Morgen! Was ist morgen dran?",
        "nächsten Montag",
        "jeden Montag",
        "diesen Freitag",
        "in drei Tagen",
        "die letzte Woche des Lehrgangs",
        "Frau Freitag hat angerufen.",
        "in 2000 Fällen",
        "letzten Endes",
        "August ist mein Onkel und kommt nicht.",
        "Das ist mehr als drei Tage her.",
        "die letzten Tage",
        "heute in einer Woche",
    ]);
}

#[test]
fn french() {
    name(&[
        ("Qu'est-ce que j'ai mangé aujourd'hui ?", TODAY),
        ("Qu'est-ce que nous avons dit hier ?", YESTERDAY),
        ("hier soir", YESTERDAY),
        ("avant-hier", TWO_DAYS_AGO),
        ("la nuit dernière", LAST_NIGHT),
        ("la semaine dernière", LAST_WEEK),
        ("la semaine passée", LAST_WEEK),
        ("cette semaine", THIS_WEEK),
        ("le mois dernier", LAST_MONTH),
        ("l’année dernière", LAST_YEAR),
        ("l'an dernier", LAST_YEAR),
        ("cette anne\u{301}e", THIS_YEAR),
        ("le week-end dernier", WEEKEND),
        ("au cours des trois derniers jours", PAST_THREE_DAYS),
        ("les 3 derniers jours", PAST_THREE_DAYS),
        ("il y a trois jours", THREE_DAYS_AGO),
        ("il y a deux semaines", TWO_WEEKS_AGO),
        ("il y a quinze jours", TWO_WEEKS_AGO),
        ("il y a une semaine", A_WEEK_AGO),
        ("il y a quelques jours", A_FEW_DAYS_AGO),
        ("mardi dernier", YESTERDAY),
        ("Qu'avons-nous décidé vendredi ?", FRIDAY),
        ("mardi de la semaine dernière", TUESDAY_OF_LAST_WEEK),
        ("depuis lundi", SINCE_MONDAY),
        ("avant mardi", BEFORE_TUESDAY),
        ("jusqu'à vendredi", UNTIL_FRIDAY),
        ("après le 7 mai", AFTER_MAY_7),
        ("en mars", MARCH),
        ("le 7 mai", MAY_7),
        ("dimanche 7 mai 2023", MAY_7),
        ("le 1er avril", "2023-04-01..2023-04-02"),
        ("en mars de l'année dernière", MARCH_OF_LAST_YEAR),
        ("entre février et avril", "2023-02-01..2023-05-01"),
        ("en 2022", LAST_YEAR),
        ("du 3 au 5 mai", "2023-05-03..2023-05-06"),
        ("entre le 3 et le 5 mai", "2023-05-03..2023-05-06"),
    ]);
    name_none(&[
        "la planète Mars",
        "Mars est une planète et elle est rouge.",
        "le lundi",
        "lundi prochain",
        "la semaine prochaine",
        "dans trois jours",
        "Il y a trois jours que j'attends",
        "Mardi gras",
        "tous les mardis",
        "chaque mardi",
        "ces derniers jours",
        "en 2000 exemplaires",
        "I ate 7 Mars bars.",
        "il y a un an et demi",
    ]);
}

#[test]
fn spanish() {
    name(&[
        ("¿Qué comí hoy?", TODAY),
        ("¿Quién llamó ayer?", YESTERDAY),
        ("anteayer", TWO_DAYS_AGO),
        ("antes de ayer", TWO_DAYS_AGO),
        ("anoche", LAST_NIGHT),
        ("la semana pasada", LAST_WEEK),
        ("esta semana", THIS_WEEK),
        ("esta semana pasada", LAST_WEEK),
        ("el mes pasado", LAST_MONTH),
        ("el año pasado", LAST_YEAR),
        ("este año", THIS_YEAR),
        ("el fin de semana pasado", WEEKEND),
        ("en los últimos tres días", PAST_THREE_DAYS),
        ("hace tres días", THREE_DAYS_AGO),
        ("hace 2 semanas", TWO_WEEKS_AGO),
        ("hace una semana", A_WEEK_AGO),
        ("hace unos días", A_FEW_DAYS_AGO),
        ("el martes pasado", YESTERDAY),
        ("el pasado martes", YESTERDAY),
        ("¿Qué dije el viernes?", FRIDAY),
        ("el martes de la semana pasada", TUESDAY_OF_LAST_WEEK),
        ("desde el lunes", SINCE_MONDAY),
        ("antes del martes", BEFORE_TUESDAY),
        ("hasta el viernes", UNTIL_FRIDAY),
        ("después del 7 de mayo", AFTER_MAY_7),
        ("en marzo", MARCH),
        ("en marzo del año pasado", MARCH_OF_LAST_YEAR),
        ("el 7 de mayo de 2023", MAY_7),
        ("el domingo 7 de mayo", MAY_7),
        ("entre marzo y abril", MARCH_TO_APRIL),
        ("en 2022", LAST_YEAR),
        ("entre el 3 y el 5 de mayo", "2023-05-03..2023-05-06"),
    ]);
    name_none(&[
        "mañana por la mañana",
        "hoy en día",
        "los lunes",
        "todos los lunes",
        "cada marzo",
        "el próximo lunes",
        "el lunes que viene",
        "este lunes",
        "Plácido Domingo",
        "Vivo en Santo Domingo",
        "Hace tres días que espero",
        "dentro de tres días",
        "la casa de Julio",
        "en 2000 casos",
        "hace un año y medio",
    ]);
}

#[test]
fn italian() {
    name(&[
        ("Che cosa ho mangiato oggi?", TODAY),
        ("Chi ha chiamato ieri?", YESTERDAY),
        ("l'altro ieri", TWO_DAYS_AGO),
        ("la scorsa notte", LAST_NIGHT),
        ("la settimana scorsa", LAST_WEEK),
        ("la scorsa settimana", LAST_WEEK),
        ("questa settimana", THIS_WEEK),
        ("il mese scorso", LAST_MONTH),
        ("l'anno scorso", LAST_YEAR),
        ("quest'anno", THIS_YEAR),
        ("lo scorso fine settimana", WEEKEND),
        ("negli ultimi tre giorni", PAST_THREE_DAYS),
        ("tre giorni fa", THREE_DAYS_AGO),
        ("due settimane fa", TWO_WEEKS_AGO),
        ("una settimana fa", A_WEEK_AGO),
        ("qualche giorno fa", A_FEW_DAYS_AGO),
        ("martedì scorso", YESTERDAY),
        ("venerdì", FRIDAY),
        ("martedì della settimana scorsa", TUESDAY_OF_LAST_WEEK),
        ("da lunedì", SINCE_MONDAY),
        ("prima di martedì", BEFORE_TUESDAY),
        ("fino a venerdì", UNTIL_FRIDAY),
        ("dopo il 7 maggio", AFTER_MAY_7),
        ("a marzo", MARCH),
        ("nel marzo dell'anno scorso", MARCH_OF_LAST_YEAR),
        ("il 7 maggio 2023", MAY_7),
        ("domenica 7 maggio", MAY_7),
        ("tra marzo e aprile", MARCH_TO_APRIL),
        ("nel 2022", LAST_YEAR),
    ]);
    name_none(&[
        "domani",
        "al giorno d'oggi",
        "il lunedì",
        "ogni lunedì",
        "lunedì prossimo",
        "la prossima settimana",
        "fra tre giorni",
        "più di tre giorni fa",
        "Non ho mai detto questo.",
        "l'ultima settimana di corso",
        "Sabato è un cognome",
        "nel 2000 a.C. circa 300 persone",
    ]);
}

#[test]
fn portuguese() {
    name(&[
        ("O que eu comi hoje?", TODAY),
        ("Quem ligou ontem?", YESTERDAY),
        ("anteontem", TWO_DAYS_AGO),
        ("ontem à noite", LAST_NIGHT),
        ("na semana passada", LAST_WEEK),
        ("esta semana", THIS_WEEK),
        ("no mês passado", LAST_MONTH),
        ("no ano passado", LAST_YEAR),
        ("neste ano", THIS_YEAR),
        ("no fim de semana passado", WEEKEND),
        ("nos últimos três dias", PAST_THREE_DAYS),
        ("há três dias", THREE_DAYS_AGO),
        ("três dias atrás", THREE_DAYS_AGO),
        ("há duas semanas", TWO_WEEKS_AGO),
        ("há uma semana", A_WEEK_AGO),
        ("há alguns dias", A_FEW_DAYS_AGO),
        ("na terça passada", YESTERDAY),
        ("na sexta-feira", FRIDAY),
        ("na terça-feira da semana passada", TUESDAY_OF_LAST_WEEK),
        ("desde segunda-feira", SINCE_MONDAY),
        ("antes de terça-feira", BEFORE_TUESDAY),
        ("até sexta-feira", UNTIL_FRIDAY),
        ("depois de 7 de maio", AFTER_MAY_7),
        ("em março", MARCH),
        ("em março do ano passado", MARCH_OF_LAST_YEAR),
        ("no dia 7 de maio de 2023", MAY_7),
        ("no domingo, 7 de maio", MAY_7),
        ("entre março e abril", MARCH_TO_APRIL),
        ("em 2022", LAST_YEAR),
    ]);
    name_none(&[
        "amanhã",
        "hoje em dia",
        "na segunda parte",
        "na quinta do meu avô",
        "toda segunda-feira",
        "na próxima semana",
        "sexta-feira que vem",
        "daqui a três dias",
        "Há três dias que espero",
        "o mar de março",
        "sexta-feira santa",
        "há mais de três dias",
        "em 2000 casos",
        "há um ano e meio",
    ]);
}

#[test]
fn dutch() {
    name(&[
        ("Wat heb ik vandaag gegeten?", TODAY),
        ("Wie belde er gisteren?", YESTERDAY),
        ("eergisteren", TWO_DAYS_AGO),
        ("afgelopen nacht", LAST_NIGHT),
        ("vorige week", LAST_WEEK),
        ("deze week", THIS_WEEK),
        ("vorige maand", LAST_MONTH),
        ("vorig jaar", LAST_YEAR),
        ("dit jaar", THIS_YEAR),
        ("afgelopen weekend", WEEKEND),
        ("de afgelopen drie dagen", PAST_THREE_DAYS),
        ("in de laatste drie dagen", PAST_THREE_DAYS),
        ("drie dagen geleden", THREE_DAYS_AGO),
        ("2 weken geleden", TWO_WEEKS_AGO),
        ("een week geleden", A_WEEK_AGO),
        ("een paar dagen geleden", A_FEW_DAYS_AGO),
        ("vorige dinsdag", YESTERDAY),
        ("op vrijdag", FRIDAY),
        ("dinsdag van vorige week", TUESDAY_OF_LAST_WEEK),
        ("sinds maandag", SINCE_MONDAY),
        ("vóór dinsdag", BEFORE_TUESDAY),
        ("tot en met vrijdag", UNTIL_FRIDAY),
        ("na 7 mei", AFTER_MAY_7),
        ("in maart", MARCH),
        ("in maart vorig jaar", MARCH_OF_LAST_YEAR),
        ("op zondag 7 mei 2023", MAY_7),
        ("tussen maart en april", MARCH_TO_APRIL),
        ("in het jaar 2022", LAST_YEAR),
    ]);
    name_none(&[
        "morgen",
        "Ik ben hier en wacht.",
        "volgende week",
        "volgende maandag",
        "elke maandag",
        "de afspraak voor dinsdag",
        "over drie dagen",
        "meer dan drie dagen geleden",
        "de laatste week van de cursus",
        "Ik heb het in 2000 gevallen gezien",
        "Goede Vrijdag",
        "de laatste dag",
    ]);
}

#[test]
fn russian() {
    name(&[
        ("Что я ел сегодня?", TODAY),
        ("Кто звонил вчера?", YESTERDAY),
        ("позавчера", TWO_DAYS_AGO),
        ("прошлой ночью", LAST_NIGHT),
        ("на прошлой неделе", LAST_WEEK),
        ("прошлую неделю", LAST_WEEK),
        ("на этой неделе", THIS_WEEK),
        ("в прошлом месяце", LAST_MONTH),
        ("в прошлом году", LAST_YEAR),
        ("в этом году", THIS_YEAR),
        ("в прошлые выходные", WEEKEND),
        ("за последние три дня", PAST_THREE_DAYS),
        ("три дня назад", THREE_DAYS_AGO),
        ("две недели назад", TWO_WEEKS_AGO),
        ("неделю назад", A_WEEK_AGO),
        ("несколько дней назад", A_FEW_DAYS_AGO),
        ("в прошлый вторник", YESTERDAY),
        ("в пятницу", FRIDAY),
        ("во вторник на прошлой неделе", TUESDAY_OF_LAST_WEEK),
        ("с понедельника", SINCE_MONDAY),
        ("до вторника", BEFORE_TUESDAY),
        ("после 7 мая", AFTER_MAY_7),
        ("в марте", MARCH),
        ("в марте прошлого года", MARCH_OF_LAST_YEAR),
        ("7 мая 2023 года", MAY_7),
        ("7-го мая", MAY_7),
        ("между мартом и апрелем", MARCH_TO_APRIL),
        ("в 2022 году", LAST_YEAR),
        ("с 3 по 5 мая", "2023-05-03..2023-05-06"),
    ]);
    name_none(&[
        "завтра",
        "в следующий понедельник",
        "каждый понедельник",
        "в эту пятницу",
        "Встречу перенесли на вторник.",
        "в среду обитания",
        "среда разработки",
        "через три дня",
        "около трёх дней назад",
        "полторы недели назад",
        "двадцать два дня назад",
        "в 2000 случаях",
        "последние дни",
        "год за годом",
    ]);
}

#[test]
fn turkish() {
    name(&[
        ("Bugün ne yedim?", TODAY),
        ("Dün kim aradı?", YESTERDAY),
        ("evvelki gün", TWO_DAYS_AGO),
        ("dün gece", LAST_NIGHT),
        ("Geçen hafta ne konuştuk?", LAST_WEEK),
        ("geçen haftaki toplantı", LAST_WEEK),
        ("bu hafta", THIS_WEEK),
        ("geçen ay", LAST_MONTH),
        ("geçen yıl", LAST_YEAR),
        ("geçen sene", LAST_YEAR),
        ("bu yıl", THIS_YEAR),
        ("geçen hafta sonu", WEEKEND),
        ("son üç gün", PAST_THREE_DAYS),
        ("üç gün önce", THREE_DAYS_AGO),
        ("İki hafta önce", TWO_WEEKS_AGO),
        ("bir hafta önce", A_WEEK_AGO),
        ("birkaç gün önce", A_FEW_DAYS_AGO),
        ("geçen salı", YESTERDAY),
        ("Salı günü ne dedim?", YESTERDAY),
        ("cuma günü", FRIDAY),
        ("geçen hafta salı", TUESDAY_OF_LAST_WEEK),
        ("pazartesiden beri", SINCE_MONDAY),
        ("salıdan önce", BEFORE_TUESDAY),
        ("cuma gününe kadar", UNTIL_FRIDAY),
        ("7 Mayıs'tan sonra", AFTER_MAY_7),
        ("martta", MARCH),
        ("Mart’ta", MARCH),
        ("mart ayında", MARCH),
        ("Mart 2023'te", MARCH),
        ("geçen yıl martta", MARCH_OF_LAST_YEAR),
        ("7 Mayıs 2023", MAY_7),
        ("7 Mayıs Pazar günü", MAY_7),
        ("2022'de", LAST_YEAR),
        ("2022 yılında", LAST_YEAR),
        ("ocak ayında", "2023-01-01..2023-02-01"),
    ]);
    name_none(&[
        "yarın",
        "ocakta yemek var",
        "pazara gittim",
        "gelecek pazartesi",
        "her pazartesi",
        "pazartesi günleri",
        "bu cuma",
        "üç gün sonra",
        "sınavdan iki gün önce",
        "yaklaşık üç gün önce",
        "aradan geçen iki yıl",
        "on üç gün önce",
        "Aralık kapıdan baktı",
        "iki üç gün önce",
    ]);
    // "Ne kadar" is "how much", unless it ends a word.
    check("Salı ne kadar harcadım?", &[YESTERDAY]);
}

#[test]
fn arabic() {
    name(&[
        ("ماذا أكلت اليوم؟", TODAY),
        ("من اتصل أمس؟", YESTERDAY),
        ("أول أمس", TWO_DAYS_AGO),
        ("الليلة الماضية", LAST_NIGHT),
        ("الأسبوع الماضي", LAST_WEEK),
        ("في الأسبوع الماضي", LAST_WEEK),
        ("هذا الأسبوع", THIS_WEEK),
        ("الشهر الماضي", LAST_MONTH),
        ("العام الماضي", LAST_YEAR),
        ("السنة الماضية", LAST_YEAR),
        ("هذا العام", THIS_YEAR),
        ("نهاية الأسبوع الماضي", WEEKEND),
        ("خلال الأيام الثلاثة الماضية", PAST_THREE_DAYS),
        ("آخر ثلاثة أيام", PAST_THREE_DAYS),
        ("قبل ثلاثة أيام", THREE_DAYS_AGO),
        ("قبل ٣ أيام", THREE_DAYS_AGO),
        ("قبل يومين", TWO_DAYS_AGO),
        ("قبل أسبوعين", TWO_WEEKS_AGO),
        ("قبل أسبوع", A_WEEK_AGO),
        ("قبل أيام", A_FEW_DAYS_AGO),
        ("يوم الثلاثاء الماضي", YESTERDAY),
        ("الثلاثاء الماضي", YESTERDAY),
        ("يوم الجمعة", FRIDAY),
        ("منذ يوم الاثنين", SINCE_MONDAY),
        ("قبل يوم الثلاثاء", BEFORE_TUESDAY),
        ("حتى يوم الجمعة", UNTIL_FRIDAY),
        ("بعد 7 مايو", AFTER_MAY_7),
        ("في مارس", MARCH),
        ("في شهر مارس", MARCH),
        ("في مارس من العام الماضي", MARCH_OF_LAST_YEAR),
        ("٧ مايو ٢٠٢٣", MAY_7),
        ("في عام 2022", LAST_YEAR),
        ("أَمْس", YESTERDAY),
    ]);
    name_none(&[
        "في ذلك اليوم",
        "اليوم التالي",
        "كل يوم جمعة",
        "يوم الاثنين القادم",
        "الأسبوع المقبل",
        "بعد ثلاثة أيام",
        "قبل ثلاثة أيام من السفر",
        "بين الاثنين",
        "أحد الأيام",
        "الجمعة العظيمة",
        "مارس الرياضة",
        "غدا",
        "قبل عام ونصف",
    ]);
}

#[test]
fn hindi() {
    name(&[
        ("मैंने आज क्या खाया?", TODAY),
        ("बीते कल", YESTERDAY),
        ("पिछली रात", LAST_NIGHT),
        ("पिछले हफ़्ते हमने क्या कहा?", LAST_WEEK),
        ("पिछले सप्ताह", LAST_WEEK),
        ("इस हफ्ते", THIS_WEEK),
        ("पिछले महीने", LAST_MONTH),
        ("पिछले साल", LAST_YEAR),
        ("इस साल", THIS_YEAR),
        ("पिछले सप्ताहांत", WEEKEND),
        ("पिछले तीन दिनों में", PAST_THREE_DAYS),
        ("तीन दिन पहले", THREE_DAYS_AGO),
        ("दो हफ़्ते पहले", TWO_WEEKS_AGO),
        ("एक हफ़्ते पहले", A_WEEK_AGO),
        ("कुछ दिन पहले", A_FEW_DAYS_AGO),
        ("पिछले मंगलवार", YESTERDAY),
        ("शुक्रवार को", FRIDAY),
        ("पिछले हफ़्ते मंगलवार को", TUESDAY_OF_LAST_WEEK),
        ("सोमवार से", SINCE_MONDAY),
        ("मंगलवार से पहले", BEFORE_TUESDAY),
        ("शुक्रवार तक", UNTIL_FRIDAY),
        ("7 मई के बाद", AFTER_MAY_7),
        ("मार्च 2023 में", MARCH),
        ("मार्च के महीने में", MARCH),
        ("पिछले साल मार्च में", MARCH_OF_LAST_YEAR),
        ("७ मई २०२३ को", MAY_7),
        ("फ़रवरी में", "2023-02-01..2023-03-01"),
        ("मार्च 2023 से अप्रैल 2023 तक", MARCH_TO_APRIL),
        ("2022 में", LAST_YEAR),
    ]);
    name_none(&[
        "कल किसने फोन किया?",
        "परसों",
        "आजकल",
        "आज कल",
        "शांति मार्च में गए",
        "हर सोमवार",
        "अगले महीने",
        "अगले सोमवार",
        "तीन दिन बाद",
        "परीक्षा से दो दिन पहले",
        "तीन दिन से",
        "पिछले दिनों",
        "दो-तीन दिन पहले",
    ]);
}

#[test]
fn chinese() {
    name(&[
        ("我今天吃了什么？", TODAY),
        ("昨天谁打来电话？", YESTERDAY),
        ("前天说的", TWO_DAYS_AGO),
        ("昨晚我们说了什么", LAST_NIGHT),
        ("我们上周谈了什么", LAST_WEEK),
        ("上個禮拜", LAST_WEEK),
        ("上个星期的会议", LAST_WEEK),
        ("本周", THIS_WEEK),
        ("上个月", LAST_MONTH),
        ("去年", LAST_YEAR),
        ("今年", THIS_YEAR),
        ("上周末", WEEKEND),
        ("过去三天", PAST_THREE_DAYS),
        ("三天前", THREE_DAYS_AGO),
        ("3天前", THREE_DAYS_AGO),
        ("两周前", TWO_WEEKS_AGO),
        ("一个星期前", A_WEEK_AGO),
        ("几天前", A_FEW_DAYS_AGO),
        ("上周二", TUESDAY_OF_LAST_WEEK),
        ("上星期二的会议", TUESDAY_OF_LAST_WEEK),
        ("周五", FRIDAY),
        ("星期五我说了什么", FRIDAY),
        ("周一以来", SINCE_MONDAY),
        ("周二之前", BEFORE_TUESDAY),
        ("周二前往上海", YESTERDAY),
        ("5月7日之后", AFTER_MAY_7),
        ("在三月", MARCH),
        ("3月份", MARCH),
        ("2023年3月", MARCH),
        ("去年三月", MARCH_OF_LAST_YEAR),
        ("去年的3月", MARCH_OF_LAST_YEAR),
        ("2023年5月7日", MAY_7),
        ("五月七号", MAY_7),
        ("5月7日（星期日）", MAY_7),
        ("从3月到4月", MARCH_TO_APRIL),
        ("2022年", LAST_YEAR),
        ("上周一直在忙", LAST_WEEK),
        ("上周日本的新闻", LAST_WEEK),
        ("5月3日至5日", "2023-05-03..2023-05-06"),
        ("周一到周三", "2023-05-08..2023-05-11"),
    ]);
    name_none(&[
        "如今年轻人",
        "过去年轻的时候",
        "以前天气很好",
        "马上周末了",
        "基本周期",
        "日本周边",
        "每周一",
        "一周一次",
        "下周二",
        "三天后",
        "五月天",
        "十月怀胎",
        "今日头条",
        "十几天前",
        "一百二十三多天前",
        "一次三个月的旅行",
        "明天",
        "桌上周围",
        "下周末",
        "每年5月",
        "两三天前",
    ]);
}

#[test]
fn japanese() {
    name(&[
        ("今日は何を食べましたか", TODAY),
        ("昨日誰が電話しましたか", YESTERDAY),
        ("一昨日の話", TWO_DAYS_AGO),
        ("おととい", TWO_DAYS_AGO),
        ("昨夜の話", LAST_NIGHT),
        ("先週何を話しましたか", LAST_WEEK),
        ("先週", LAST_WEEK),
        ("今週の予定", THIS_WEEK),
        ("先月の会議", LAST_MONTH),
        ("去年の話", LAST_YEAR),
        ("昨年", LAST_YEAR),
        ("今年は", THIS_YEAR),
        ("先週末に", WEEKEND),
        ("過去3日間に", PAST_THREE_DAYS),
        ("三日前に", THREE_DAYS_AGO),
        ("２週間前に", TWO_WEEKS_AGO),
        ("1週間前に", A_WEEK_AGO),
        ("数日前に", A_FEW_DAYS_AGO),
        ("先週の火曜日に", TUESDAY_OF_LAST_WEEK),
        ("先週火曜に", TUESDAY_OF_LAST_WEEK),
        ("金曜日に言ったこと", FRIDAY),
        ("月曜日から", SINCE_MONDAY),
        ("火曜日より前に", BEFORE_TUESDAY),
        ("金曜日まで", UNTIL_FRIDAY),
        ("5月7日の後に", AFTER_MAY_7),
        ("三月に", MARCH),
        ("3月の会議", MARCH),
        ("2023年3月に", MARCH),
        ("去年の三月に", MARCH_OF_LAST_YEAR),
        ("2023年5月7日に", MAY_7),
        ("5月7日（日曜日）に", MAY_7),
        ("3月から4月まで", MARCH_TO_APRIL),
        ("2022年に", LAST_YEAR),
        ("5月3日から5日まで", "2023-05-03..2023-05-06"),
    ]);
    name_none(&[
        "明日は休みです",
        "今日子さんに会った",
        "明日香さん",
        "三日月がきれい",
        "日曜大工をする",
        "毎週月曜日に",
        "第3月曜日に",
        "来週の火曜日に",
        "締め切りの三日前に",
        "試験3日前に",
        "今年度の予算を",
        "お正月に",
        "優先週間を",
        "三日後に",
        "二、三日前に",
        "五日前後に",
    ]);
}

#[test]
fn korean() {
    name(&[
        ("오늘 뭐 먹었지?", TODAY),
        ("어제 누가 전화했어?", YESTERDAY),
        ("어제는 뭐 했지", YESTERDAY),
        ("그저께", TWO_DAYS_AGO),
        ("어젯밤에", LAST_NIGHT),
        ("지난주에 뭐라고 했지?", LAST_WEEK),
        ("지난 주", LAST_WEEK),
        ("이번 주", THIS_WEEK),
        ("지난달", LAST_MONTH),
        ("작년에", LAST_YEAR),
        ("올해", THIS_YEAR),
        ("지난 주말에", WEEKEND),
        ("지난 3일 동안", PAST_THREE_DAYS),
        ("3일 전에", THREE_DAYS_AGO),
        ("내가 사흘 전에 말한 것", THREE_DAYS_AGO),
        ("2주 전에", TWO_WEEKS_AGO),
        ("일주일 전", A_WEEK_AGO),
        ("며칠 전에", A_FEW_DAYS_AGO),
        ("지난 화요일에", YESTERDAY),
        ("금요일에 뭐라고 했지", FRIDAY),
        ("지난주 화요일에", TUESDAY_OF_LAST_WEEK),
        ("월요일부터", SINCE_MONDAY),
        ("화요일 전에", BEFORE_TUESDAY),
        ("금요일까지", UNTIL_FRIDAY),
        ("3월에", MARCH),
        ("2023년 3월", MARCH),
        ("작년 3월에", MARCH_OF_LAST_YEAR),
        ("2023년 5월 7일에", MAY_7),
        ("3월부터 4월까지", MARCH_TO_APRIL),
        ("2022년에", LAST_YEAR),
        ("한 달 전에", "2023-03-26..2023-04-26"),
    ]);
    name_none(&[
        "내일",
        "그제야 알았다",
        "오늘날의 사회",
        "오늘의집에서 샀어",
        "월요일마다",
        "매주 월요일",
        "다음 주 화요일",
        "다음 화요일",
        "이번 화요일",
        "이 일 전에",
        "시험 3일 전에",
        "3일 후에",
        "3월드컵",
        "지난 3일에",
    ]);
}

#[test]
fn a_text_of_another_language_keeps_its_own_times() {
    check("What did Jan say gestern?", &["2023-01-01..2023-02-01", YESTERDAY]);
    check("Was hat Jan im Mai gesagt, und was ist mit Mar?", &["2023-05-01..2023-06-01"]);
    check("Monday, 8 May 2023", &[TWO_DAYS_AGO]);
    check("in March last year", &[MARCH_OF_LAST_YEAR]);
    check("the Tuesday of last week", &[TUESDAY_OF_LAST_WEEK]);
    check("next Monday", &[]);
    check("every Monday", &[]);
    check("from 3 to 5 May 2023", &["2023-05-03..2023-05-06"]);
    check("the last week of the course", &[]);
}

proptest! {
    #[test]
    fn no_text_is_too_odd(
        words in prop::collection::vec(
            prop_oneof![
                Just("vor"), Just("drei"), Just("Tagen"), Just("letzten"), Just("März"), Just("von"), Just("bis"),
                Just("le"), Just("dernier"), Just("l'"), Just("’"), Just("hace"), Just("años"), Just("7"), Just("de"),
                Just("mayo"), Just("2023'te"), Just("kadar"), Just("geçen"), Just("с"), Just("мая"), Just("года"),
                Just("قبل"), Just("يومين"), Just("أَمْس"), Just("मार्च"), Just("से"), Just("पिछले"), Just("上周"), Just("二"),
                Just("三"), Just("十"), Just("9999"), Just("年"), Just("月"), Just("日"), Just("前"), Just("から"), Just("まで"),
                Just("先週"), Just("の"), Just("지난"), Just("3"), Just("일"), Just("전에"), Just("e\u{301}"), Just("İ"),
            ],
            0..10,
        ),
        is_spaced in any::<bool>(),
        clock in any::<i64>(),
    ) {
        let text = words.join(if is_spaced { " " } else { "" });
        for range in TimeWords::of(&text).ranges(Timestamp::from_millis(clock)) {
            prop_assert!(range.since().zip(range.before()).is_none_or(|(since, before)| since < before));
        }
    }
}
