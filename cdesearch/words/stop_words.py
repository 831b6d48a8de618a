"""Function words of each language, by which texts in the same script are told apart.

Full text ignores those of the main language of a corpus. Words that also name things are left out.
"""

import re

_ENGLISH = """
    a about again against ain all am an and are aren as at be been being below between both but by can couldn d did
    didn do doesn doing don down each few for from further had hadn has hasn have haven having he her here hers
    herself him himself his how i if in into is isn it its itself just ll m ma me mightn more most mustn my myself
    needn no nor not now of off on or other our ours out over own re s same shan she should shouldn so some such t
    than that the their theirs them then there these they this those through to too under until up ve was wasn we
    were weren what when where which while who whom will with won wouldn y you your yours yourself
"""
_GERMAN = """
    aber alle allem allen aller alles als also am an auch auf aus bei beim bin bis bist da damit dann das dass dein
    dem den denn der des dessen die dies diese diesem diesen dieser dieses doch dort du durch ein eine einem einen
    einer eines er es etwas euch euer für gegen habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr
    ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jedes kann kein keine keinem keinen keiner können
    man mein mich mir mit muss müssen nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem seinen
    seiner seit sich sie sind so soll sollen sollte sondern sonst um und uns unser unter vom von vor war waren was
    weil welche welchem welchen welcher welches wenn werde werden wer wie wieder will wir wird wo wurde wurden
    während zu zum zur zwar zwischen über
"""
_FRENCH = """
    a ai au aucun aucune aussi autre autres aux avec avez avons ayant c ce cela celle celles celui ces cet cette
    ceux chaque comme comment d dans de des donc dont du elle elles en est et étaient était été être eu fait faut il
    ils j je l la le les leur leurs lors lorsque lui là m ma mais me mes moi même n ne nos notre nous on ont ou où
    par pas peu peut peuvent plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se sera
    seront ses si sinon soit son sont sous sur t ta te tes toi ton tous tout toute toutes très tu un une vers vos
    votre vous y à
"""
_SPANISH = """
    a al algo algunas algunos ante antes como con contra cual cuando cuál cómo de del desde donde dos durante e el
    ella ellas ellos en entre era eran es esa esas ese eso esos esta estaba estado estar estas este esto estos está
    están fue fueron ha han hasta hay la las le les lo los me mi mis mucho muy más ni no nos nosotros o otra otras
    otro otros para pero poco por porque puede pueden que quien qué se sea según ser si sido sin sobre solo son su
    sus sí sólo también tanto tiene tienen todo todos tu tus un una unas uno unos usted y ya yo él
"""
_PORTUGUESE = """
    a ao aos aquela aquele aqui as até com como da das de dela dele deles depois do dos e ela elas ele eles em entre
    era eram essa essas esse esses esta estas este estes está estão eu foi foram há isso isto já lhe mais mas me
    mesmo meu minha muito na nas nem no nos nossa nosso num numa não nós o onde os ou para pela pelas pelo pelos por
    porque pode podem qual quando que quem se seja sem ser será seu seus são só sua suas também te tem têm tinha
    todo todos tu tua um uma uns você vocês à às é
"""
_ITALIAN = """
    a ad agli ai al alla alle allo anche ancora avere c che chi ci coi col come con contro cui da dagli dai dal
    dalla dalle dallo degli dei del dell della delle dello di dove e ed era erano essere fra gli ha hanno ho i il in
    io l la le lei li lo loro lui ma mi mia mio ne negli nei nel nell nella nelle nello noi non nostra nostro o ogni
    per perché però più può possono qual quale quali quando quanto quella quelle quelli quello questa queste questi
    questo se sei senza si sia sono sopra sta stato su sua sue sugli sui sul sulla sulle suo suoi tra tu tutti tutto
    un una uno vi voi è
"""
_DUTCH = """
    aan al alle alleen als altijd andere ben bij daar dan dat de der deze die dit doen door dus een en er gebruikt
    geen ge had heb hebben heeft het hier hij hoe hun iets ik in is ja je kan kon kunnen maar me meer men met mij
    mijn moet moeten na naar niet niets nog nu of om omdat onder ons ook op over reeds te tegen ten ter toch toen
    tot u uit uw van veel voor waar wanneer was wat we welke werd wie wij wil worden wordt zal ze zelf zich zij zijn
    zo zonder zou
"""
_SWEDISH = """
    alla allt att av blev bli blir de dem den denna deras dess dessa det detta dig din dina ditt du där då efter ej
    eller en er ett från för ha hade han hans har henne hennes hon honom hur här i icke inga ingen inget inom inte
    jag kan kunde man med mellan men mig min mina mitt mot mycket ni nu när någon något några och om oss på samma
    sedan sig sin sina sitt ska skall skulle som så till under upp ut utan vad var vara varför varje vars vart vem
    vi vid vilka vilken vilket än är även åt över
"""
_DANISH = """
    ad af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din dine disse dog du
    efter eller en end er et for fra få ham han hans har havde hende hendes her hos hun hvad hvis hvor hvordan
    hvornår i ikke ind jeg jer kan kun man mange med meget men mellem mig min mine mod ned noget nogle nu når og
    også om op os over på selv sig sin sine skal skulle som sådan til ud uden under var ved vi vil ville være været
"""
_NORWEGIAN = """
    alle at av begge ble bli blir bruk da de deg dem den denne der deres det dette din disse du eller en enn er et
    ett etter for fordi fra før ha hadde han hans har hennes her hun hva hvem hver hvilken hvis hvor hvordan hvorfor
    i ikke ingen inn jeg kan kunne man mange med meg mellom men mer mot mye nå når noe noen og også om opp oss over
    på samme seg selv sin sine sitt skal skulle slik som så til ut uten vi ved var være vært
"""
_FINNISH = """
    ei eivät en että ehkä emme he hän häntä hänen ja jo jos jossa joka joita jota jotka jonka jolla kanssa ken kuin
    kuka kun kuten koska me mikä minä minun mitä missä mukaan mutta myös ne niiden niin niitä noin nuo näiden näitä
    nämä ole oleva olevan oli olivat olla on ovat se sekä sen siinä siitä sillä sinä sitä tai te tämä tämän tässä
    tähän tätä vaan vaikka vai voi voidaan vain yli kaikki jokin jonkin
"""
_HUNGARIAN = """
    a ahogy aki akkor alatt amely amelyek ami amikor az azok azon azonban azt be csak de e egy egyes egyik el ez
    ezek ezen ezt és fel ha hogy hogyan ide ill illetve is itt jól között kell ki kívül le lehet lesz ma majd már
    még meg mely melyet mert mi mind minden mint mintha más míg nagyon ne nem nincs olyan ott pedig s saját sem sok
    szerint számára után utána vagy vagyis valaki valamint van vannak volt voltak össze úgy új ő ők
"""
_ROMANIAN = """
    a acea aceasta această aceea acei acel acest aceste acestea acestor acestui aceşti ai al ale am ar are asupra au
    avea azi ca cand care ce cel cele celor cei când către cu cum cât da dacă dar de deci decât deoarece despre din
    dintre după ea ei el ele este eu fi fie fiecare fost fără iar în înainte încă între într îl la le lor lui mai
    mult nici nu o ori orice pe pentru poate pot prin sa sau se spre sub sunt să și şi toate tot tuturor un una unei
    unele unor unui va vor
"""
_TURKISH = """
    acaba ama ancak arasında aynı bana bazı belki ben beni benim bile bir biri birkaç biz bizim bu buna bunda bundan
    bunu bunun çok çünkü da daha de değil diye en eğer gibi göre hem hep hepsi her hiç için ile ilgili ise işte
    kadar kendi ki kim mi mu mü mı nasıl ne neden nerede niçin niye o olan olarak oldu olduğu olduğunu olması olur
    ona onlar onu onun sadece sen seni siz sonra şey şu şunu tarafından tüm üzere var ve veya ya yani yok
"""
_RUSSIAN = """
    а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его ее если
    есть еще же за здесь и из или им их к как какая какой когда кто ли либо мне может могут можно мы на над надо наш
    не него нее нет ни них но ну о об однако он она они оно от очень по под после потому при с сам свой себя со так
    также такой там те тем то тогда того тоже той только том тот у уже хотя чего чей чем что чтобы эта эти это этого
    этой этом этот этих я
"""
_ARABIC = """
    أن أنا أنت أو أي إذا إلا إلى إن التي الذي الذين اللذان اللتان الى ان انه او اي بعد بعض بل بها به بين تلك تم ثم
    حتى حيث خلال ذلك سوف على عليه عليها عن عند عندما غير ف في فيه فيها قبل قد كان كانت كذلك كل كما كيف لا لأن لدى لك
    لكن لم لن له لها لهم ليس ما متى مثل مع من منذ منه منها نحن هذا هذه هل هم هنا هناك هو هي و وإن وأن وفي وقد وكان
    ولا ولم وما ومن وهو وهي يا يتم يكون
"""
_GREEK = """
    αλλά αν αντί από αυτά αυτές αυτή αυτό αυτοί αυτός αυτού αυτών για δε δεν δύο εάν εγώ εδώ εκεί είναι εκείνη
    εκείνο εκείνος εμείς ένα έναν ένας ενός εσείς εσύ έτσι έχει έχουν η ή ήταν θα και κάθε κατά κάτι με μέσω μετά μη
    μην μια μία μιας μόνο μπορεί να ο οι όλα όλες όλοι όπου όπως όταν ότι όχι παρά πιο ποια ποιο ποιος που πού πριν
    προς πρέπει πως πώς σαν σας σε στα στη στην στις στο στον στους τα τη την της τι τις το τον του τους των τότε
    χωρίς ως
"""
_POLISH = """
    aby ale albo bez być był była było były bardzo ci co czy dla do gdy gdzie go ich inne jak jako je jeden jednak
    jego jej jest jeszcze jeśli już każdy kiedy kto która które którego której który których lub ma mnie może można
    na nad nie niż o od ona one oni oraz po pod podczas przed przez przy się są tak także tam tej ten tego to tu
    tych tylko tym w we wszystkie z za ze że żeby
"""
_CZECH = """
    aby ale ani asi až bez bude by byl byla bylo být co což další do ho jak jako je jeho její jejich jen jestli
    ještě již jsem jsou k kde kdo když která které který lze mezi může na nad nebo není než o od po pod podle pokud
    pouze pro proto protože před při s se si tak také tato tedy ten tento to toto tyto u už v ve však všechny z za
    ze že
"""
_SLOVAK = """
    aby ako ale alebo ani bez bol bola bolo byť by čo ďalšie do ho iba ich je jeho jej k keď ktorá ktoré ktorý kde
    medzi môže na nad nie niečo o od po pod podľa pre preto pri s sa si sme sú ste tak takže táto tento toto tieto u
    už v však všetky z za zo že
"""
_CROATIAN = """
    ako ali bez bi bila bilo bio biti da do dok ga gdje i ih ili iz između jer je još kada kako kao koja koje koji
    kojih kojim može na nad nakon ne nego nije niti o od ova ove ovaj ovo po pod prema pri s sa samo se su svi što
    ta taj te to u uz više za zbog će
"""
_CATALAN = """
    a al als amb aquest aquesta aquests això com de del dels des el ella ells els en entre era és està fer fins ha
    han hi i la les li lo més molt ni no o on per perquè però pot que què qual quan quin quina se sense ser seu seva
    si sobre són també té tot tots un una uns
"""
_INDONESIAN = """
    ada adalah agar akan anda apa apakah atau bagaimana bahwa banyak berikut bila bisa dalam dan dapat dari daripada
    dengan di hanya harus ini itu jika juga kami karena ke kepada ketika kita lain lebih maka mereka oleh pada para
    saat saya sebagai sebuah secara sehingga semua seperti serta sudah telah tersebut tetapi tidak untuk yaitu yang
"""
_VIETNAMESE = """
    anh bạn bị các cái cho chỉ có của cùng cũng cần đã đang đây để đến đó được giữa hay hoặc khi không là lại mà một
    nào này nên nếu ngày người nhiều như nhưng những này phải qua ra rất rằng sau sẽ tại tất thì theo thế trên trong
    trước từ và vào về vì với vẫn
"""
_UKRAINIAN = """
    або але без більше був була були було бути в вам вас ви від він вона вони воно все всі де для до є ж за з зі і й
    із його її їх коли ли лише має ми може можна на над не ні але під після по при про та так також там те тим ти то
    того той тільки у уже хто це цей ця ці цього чи чого що щоб як яка який які якщо я
"""
_BULGARIAN = """
    а ако без беше би бъде в вас все ви във да до докато е едно за защо и из или им има как като както които който
    коя кога към ли между може ми на над не него ни но няма обаче от по под при с са само се след си сме със също
    така там този това тази тези то той тук у че ще
"""
_SERBIAN = """
    ако али без би била било био бити да до док га где и их или из између јер је још када како као која које који
    којих може на над након не него није нити о од ова ове овај ово по под према при с са само се су сви та тај те
    то у уз више за због што ће
"""
_PERSIAN = """
    آن آنها است از اگر اما ای این با باید بر برای به بود بودن بین پس تا چه چون چند خود در دو دیگر را شد شده شود که
    کرد کرده کند کنید کنند ما می نمی نیز نیست هر هم همه همین هیچ و ولی های هایی یا یک
"""

STOP_WORDS: dict[str, frozenset[str]] = {
    code: frozenset(re.findall(r"\w+", words))
    for code, words in {
        "en": _ENGLISH, "de": _GERMAN, "fr": _FRENCH, "es": _SPANISH, "pt": _PORTUGUESE, "it": _ITALIAN, "nl": _DUTCH,
        "sv": _SWEDISH, "da": _DANISH, "no": _NORWEGIAN, "fi": _FINNISH, "hu": _HUNGARIAN, "ro": _ROMANIAN,
        "tr": _TURKISH, "ru": _RUSSIAN, "ar": _ARABIC, "el": _GREEK, "pl": _POLISH, "cs": _CZECH, "sk": _SLOVAK,
        "hr": _CROATIAN, "ca": _CATALAN, "id": _INDONESIAN, "vi": _VIETNAMESE, "uk": _UKRAINIAN, "bg": _BULGARIAN,
        "sr": _SERBIAN, "fa": _PERSIAN,
    }.items()
}  # fmt: skip
# Of all languages: a text in any of them does not have these words in full text.
EVERY_STOP_WORD = frozenset[str]().union(*STOP_WORDS.values())
