# Made from docs/source/grammar.md (841e5f8f3fbc). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The words of the grammar, with their forms and translations.

Explained on the page "A grammar and its lexicon".
"""

import re
from typing import NamedTuple


__all__ = [
    "COLOURS",
    "NOUNS",
    "NUMBERS",
    "OWNERS",
    "PEOPLE",
    "PLACES",
    "QUALITIES",
    "TIMES",
    "VERBS",
    "Verb",
]


def _parse_table(text: str) -> list[list[str]]:
    """Cut a table at its bars and line breaks, and each row into words."""
    return [row.split() for row in re.split(r"[|\n]", text.strip())]


NOUNS = {
    noun: (chinese, measure)
    for noun, chinese, measure in _parse_table("""
    book 书 本|picture 画 幅|letter 信 封|pen 笔 支|chair 椅子 把
    table 桌子 张|shirt 衬衫 件|hat 帽子 顶|flower 花 朵|tree 树 棵
    house 房子 栋|bridge 桥 座|car 汽车 辆|boat 船 艘|computer 电脑 台
    lamp 灯 盏|stone 石头 块|newspaper 报纸 份|mirror 镜子 面|apple 苹果 个
    cat 猫 只|horse 马 匹|cow 牛 头|snake 蛇 条|umbrella 雨伞 把
    key 钥匙 把|bird 鸟 只|ring 戒指 枚|rope 绳子 根|ticket 票 张
    """)
}
COLOURS = {"red": "红色", "green": "绿色", "white": "白色", "black": "黑色"}
QUALITIES = {
    adjective: (comparative, chinese)
    for adjective, comparative, chinese in _parse_table("""
    big bigger 大|small smaller 小|dirty dirtier 脏|heavy heavier 重
    light lighter 轻|cheap cheaper 便宜|clean cleaner 干净
    pretty prettier 漂亮|strange stranger 奇怪
    """)
}
NUMBERS = {
    row[0]: row[1]
    for row in _parse_table("""
    two 两|three 三|four 四|five 五|six 六|seven 七|eight 八|nine 九
    ten 十|twelve 十二|twenty 二十
    """)
}
PEOPLE = {"Tom": "汤姆", "Jerry": "杰瑞", "Anna": "安娜", "Bob": "鲍勃"}
PEOPLE |= {"Mary": "玛丽", "Jack": "杰克", "Lily": "莉莉", "Peter": "彼得"}
OWNERS = {f"{name} 's": chinese for name, chinese in PEOPLE.items()}
OWNERS |= {"my": "我", "your": "你", "his": "他", "her": "她", "our": "我们"}


class Verb(NamedTuple):
    """A verb that takes an object, in the forms that the grammar needs."""

    base: str
    third_person: str
    past: str
    participle: str  # the -ing form; "-" if the verb names a result
    chinese: str


VERBS = [
    Verb(*row)
    for row in _parse_table("""
    buy buys bought buying 买|sell sells sold selling 卖
    see sees saw - 看见|draw draws drew drawing 画|find finds found - 找到
    lose loses lost - 弄丢|wash washes washed washing 洗
    borrow borrows borrowed borrowing 借|break breaks broke - 弄坏
    choose chooses chose choosing 挑选|hide hides hid hiding 藏
    chase chases chased chasing 追逐
    """)
]
PLACES = {"in the garden": "在 花园 里", "at school": "在 学校"}
PLACES |= {"in the kitchen": "在 厨房 里", "at the market": "在 市场 里"}
TIMES = {
    "past": {"yesterday": "昨天", "last week": "上周", "this morning": "今早"},
    "future": {"tomorrow": "明天", "next week": "下周", "tonight": "今晚"},
    "present": {"every day": "每天 都", "every year": "每年 都"},
    "now": {"now": "现在", "at this moment": "这会儿"},
}
