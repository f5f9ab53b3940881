package main

import (
	"maps"
	"slices"
	"unicode/utf8"
)

// phrases are all combinations of an opening and an ending that follows it at once.
type phrases struct {
	openings, endings []string
}

// refusals are the phrases with which a model refuses or gives up. They are compared without regard to case
// and to the form of apostrophes and commas, and are long enough not to meet in an ordinary answer.
var refusals = []phrases{
	{
		[]string{"i'm sorry, ", "i am sorry, "},
		[]string{"but i can't", "but i cannot", "but i'm unable", "but i am unable", "i can't", "i cannot"},
	},
	{
		[]string{"i can't ", "i cannot ", "i'm unable to ", "i am unable to ", "i'm not able to "},
		[]string{"help with", "help you with", "assist with", "assist you with", "comply with", "fulfill"},
	},
	{[]string{"i must "}, []string{"decline", "refuse"}},
	{[]string{"due to ", "given the "}, []string{"time constraint"}},
	{
		[]string{"抱歉,", "对不起,", "對不起,"},
		[]string{"我无法", "我不能", "但我无法", "但我不能", "我無法", "但我無法"},
	},
	{[]string{"我无法", "我不能"}, []string{"协助", "提供帮助"}},
	{[]string{"无法满足"}, []string{"您的请求", "你的请求"}},
	{[]string{"我拒绝"}, []string{"回答"}},
	{[]string{"由于"}, []string{"时间限制"}},
}

// opening is where a phrase begins, with what can follow. place is its rank among all.
type opening struct {
	text    string
	endings []string
	place   int
}

// openings has those of refusals by their first byte, in both cases, for the hook stands on the path of every
// reply: most bytes of one begin no phrase, and are passed over at once.
var openings = func() (byFirst [256][]opening) {
	place := 0
	for _, p := range refusals {
		for _, text := range p.openings {
			o := opening{text, p.endings, place}
			place++
			first := text[0]
			byFirst[first] = append(byFirst[first], o)
			if 'a' <= first && first <= 'z' {
				first -= 'a' - 'A'
				byFirst[first] = append(byFirst[first], o)
			}
		}
	}
	return byFirst
}()

// refusal decides when the reply holds a refusal, and when it holds an answer all the same: then nothing
// that stands around the answer makes it a refusal. Otherwise the configured keywords hold.
func refusal(reply string) (keywords []string, ok bool) {
	if answer, _ := lastBox(reply); answer != "" {
		return nil, true
	}
	keywords = found(reply)
	return keywords, len(keywords) > 0
}

// found lists the phrases that a reply holds, each once, in the order of refusals.
func found(reply string) (keywords []string) {
	byPlace := map[int][]string{}
	for at := range len(reply) {
		for _, o := range openings[reply[at]] {
			rest, ok := cutPhrase(reply[at:], o.text)
			if !ok {
				continue
			}
			for _, ending := range o.endings {
				phrase := o.text + ending
				if _, ok := cutPhrase(rest, ending); ok && !slices.Contains(byPlace[o.place], phrase) {
					byPlace[o.place] = append(byPlace[o.place], phrase)
				}
			}
		}
	}
	for _, place := range slices.Sorted(maps.Keys(byPlace)) {
		keywords = append(keywords, byPlace[place]...)
	}
	return keywords
}

// cutPhrase cuts a phrase off the beginning of text, which may write it with other letters.
func cutPhrase(text, phrase string) (rest string, ok bool) {
	for phrase != "" {
		got, n := utf8.DecodeRuneInString(text)
		want, m := utf8.DecodeRuneInString(phrase)
		if n == 0 || folded(got) != want {
			return "", false
		}
		text, phrase = text[n:], phrase[m:]
	}
	return text, true
}

// folded is a letter or mark as the phrases are written.
func folded(r rune) rune {
	switch {
	case 'A' <= r && r <= 'Z':
		return r + 'a' - 'A'
	case r == '’' || r == '‘' || r == 'ʼ':
		return '\''
	case r == '，':
		return ','
	}
	return r
}
