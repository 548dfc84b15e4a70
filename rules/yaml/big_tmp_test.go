package yaml_test
import ("testing";"strings";"time";"fmt";"github.com/stopwhen/stopwhen/rules";"github.com/stopwhen/stopwhen/rules/yaml")
func TestBig(t *testing.T){
 M:=1<<20
 for n,unit:=range map[string]string{"[":"[","- ":"- ","a:":"a: ","crlf":"- é\r\n","cr":"- é\r","dq":"\"\\\"","sq":"''","hash":"# é\n","wide":"- é                    \n","nl":"\n","curly":"{a: ","comma":"[a, ","tab":"\t- ","q":"? ","pipe":"a: |\n","colon":"::", "flow":"a, ","esc":"\\u00e9"}{
  for _,pre:=range []string{"","k: \"","[","k: |\n  "}{
  text:=pre+strings.Repeat(unit,(M-20)/len(unit)); s:=time.Now()
  _,err:=yaml.Parse(rules.NewSource("c",text)); d:=time.Since(s)
  if d>500*time.Millisecond { e:=fmt.Sprint(err); t.Log(n,pre,d,e[:min(len(e),80)]) }
 }}
}
