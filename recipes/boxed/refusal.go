package main

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// phrases are all combinations of an opening and an ending that follows it at once.
type phrases struct {
	openings, endings []string
}

// refusals are the phrases with which a model refuses or gives up. They are compared without regard to case
// and to the form of apostrophes and commas, and are long enough not to meet in an ordinary answer.
func refusals() []phrases {
	return []phrases{
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
}

// refusal decides when the reply holds a refusal, and when it holds an answer all the same: then nothing
// that stands around the answer makes it a refusal. Otherwise the configured keywords hold.
func refusal(reply string) (keywords []string, ok bool) {
	if answer, _ := lastBox(reply); answer != "" {
		return nil, true
	}
	text := normal(reply)
	for _, p := range refusals() {
		for _, opening := range p.openings {
			keywords = append(keywords, p.after(opening, text)...)
		}
	}
	return keywords, len(keywords) > 0
}

// after lists the phrases that text holds with this opening, each once.
func (p phrases) after(opening, text string) (found []string) {
	for {
		_, rest, ok := strings.Cut(text, opening)
		if !ok {
			return found
		}
		for _, ending := range p.endings {
			if strings.HasPrefix(rest, ending) && !slices.Contains(found, opening+ending) {
				found = append(found, opening+ending)
			}
		}
		text = rest
	}
}

// normal writes a reply as the phrases are written. It goes through the reply once: the hook stands on the
// path of every reply.
func normal(reply string) string {
	plain := make([]byte, 0, len(reply))
	for _, r := range reply {
		switch {
		case 'A' <= r && r <= 'Z':
			r += 'a' - 'A'
		case r == '’' || r == '‘' || r == 'ʼ':
			r = '\''
		case r == '，':
			r = ','
		}
		plain = utf8.AppendRune(plain, r)
	}
	return string(plain)
}
