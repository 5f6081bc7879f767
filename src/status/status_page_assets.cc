#include "status/status_page_assets.h"

namespace walrelay {

// System fonts and no images: the page loads nothing from other servers, which its policy forbids.
// Colours are variables, one set for light and one for dark.
const std::string_view kStatusStyle = R"css(
:root{color-scheme:light dark;
--bg:#f4f5f7;--card:#fff;--ink:#16191d;--soft:#5d6670;--rule:#e3e6ea;--code:#f1f3f5;
--good:#1a7f4b;--busy:#2563b8;--warning:#a85a00;--bad:#c0262d;
--good-bg:#e8f5ee;--busy-bg:#e8f0fb;--warning-bg:#fdf1df;--bad-bg:#fdebec}
@media (prefers-color-scheme:dark){:root{
--bg:#0f1215;--card:#181c20;--ink:#e9edf1;--soft:#98a2ad;--rule:#2a3036;--code:#22282d;
--good:#4cc38a;--busy:#6ea8fe;--warning:#f0a94a;--bad:#ff7a80;
--good-bg:#12271d;--busy-bg:#142338;--warning-bg:#2c2110;--bad-bg:#331619}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,
"Helvetica Neue",Arial,"DejaVu Sans",sans-serif;-webkit-text-size-adjust:100%}
main{max-width:60rem;margin:0 auto;padding:1.5rem 1.25rem 3rem;overflow-wrap:anywhere}
header{display:flex;flex-wrap:wrap;gap:.1rem .9rem;align-items:baseline;margin-bottom:1rem;color:var(--soft);font-size:.9rem}
header b{color:var(--ink);font-size:1.05rem;letter-spacing:-.01em}
header time{margin-left:auto}
h2{font-size:.8rem;font-weight:600;letter-spacing:.06em;text-transform:uppercase;color:var(--soft);margin:2.2rem 0 .7rem}
p{margin:.35rem 0}
.good{--health:var(--good);--health-bg:var(--good-bg)}.busy{--health:var(--busy);--health-bg:var(--busy-bg)}
.warning{--health:var(--warning);--health-bg:var(--warning-bg)}.bad{--health:var(--bad);--health-bg:var(--bad-bg)}
.state{background:var(--health-bg);border-radius:14px;padding:1.4rem 1.5rem 1.3rem}
.state h1{display:flex;align-items:center;gap:.75rem;margin:0;font-size:clamp(1.7rem,5vw,2.3rem);line-height:1.15;
letter-spacing:-.025em;color:var(--health)}
.state h1::before{content:"";flex:none;width:.5em;height:.5em;border-radius:50%;background:var(--health)}
.state p{font-size:1.08rem;margin:.6rem 0 0}
.state small{display:block;margin-top:.55rem;color:var(--soft);font-size:.9rem}
.card{background:var(--card);border:1px solid var(--rule);border-radius:14px;padding:1.1rem 1.25rem}
.problem{box-shadow:inset 5px 0 var(--health);padding-left:1.6rem;margin-top:.9rem}
.problem h3{margin:0;font-size:1.05rem;line-height:1.35}
.problem .code{color:var(--health);font-weight:600;font-variant-numeric:tabular-nums;margin-right:.5rem;white-space:nowrap}
.said{color:var(--soft);overflow-wrap:anywhere}
.remedy{background:var(--code);border-radius:8px;padding:.65rem .85rem;margin-top:.75rem;overflow-wrap:anywhere}
.remedy b{display:block;font-size:.8rem;color:var(--soft);font-weight:600}
.tiles{display:grid;grid-template-columns:repeat(4,1fr);gap:.9rem;margin:.9rem 0 0}
.stages{margin:.7rem .1rem 0;color:var(--soft);font-size:.9rem}
.tiles dt{color:var(--soft);font-size:.85rem;line-height:1.3}
.tiles dd{margin:.35rem 0 0;font-size:1.5rem;line-height:1.15;letter-spacing:-.02em;font-variant-numeric:tabular-nums}
.tiles dd small{display:block;margin-top:.3rem;font-size:.82rem;letter-spacing:0;color:var(--soft);line-height:1.35}
.meter{height:12px;border-radius:6px;background:var(--code);overflow:hidden;margin:.2rem 0 .45rem}
.meter i{display:block;height:100%;min-width:3px;border-radius:6px;background:var(--health)}
.ends{display:flex;justify-content:space-between;gap:1rem;color:var(--soft);font-size:.85rem;font-variant-numeric:tabular-nums;
margin-bottom:.8rem}
.info{display:flex;flex-wrap:wrap;gap:.2rem 1.6rem;margin:.9rem 0 0;padding-top:.8rem;border-top:1px solid var(--rule);
font-size:.85rem;color:var(--soft)}
.info b{color:var(--ink);font-weight:500;font-variant-numeric:tabular-nums}
.charts{display:grid;grid-template-columns:repeat(3,1fr);gap:.9rem}
figure{margin:0}
figcaption{display:flex;justify-content:space-between;gap:.5rem;align-items:baseline;font-size:.85rem;color:var(--soft)}
figcaption b{display:block;color:var(--ink);font-size:1.05rem;font-weight:600;font-variant-numeric:tabular-nums}
figcaption:first-child{display:block}
svg{display:block;width:100%;height:84px;margin:.6rem 0 .3rem;border-bottom:1px solid var(--rule)}
.area{fill:var(--busy);opacity:.14}.line{fill:none;stroke:var(--busy);stroke-width:1.75;vector-effect:non-scaling-stroke;
stroke-linejoin:round;stroke-linecap:round}
table{width:100%;border-collapse:collapse;font-size:.95rem}
th{text-align:left;font-weight:600;font-size:.82rem;color:var(--soft);padding:0 .9rem .5rem 0}
td{padding:.6rem .9rem .6rem 0;border-top:1px solid var(--rule);vertical-align:top;font-variant-numeric:tabular-nums}
th,td.figure{white-space:nowrap}
td small{display:block;color:var(--soft);font-size:.82rem}td.health{color:var(--health);font-weight:600}
td.health small{font-weight:400}
.past{list-style:none;margin:0;padding:0}
.past li{padding:.8rem 0;border-top:1px solid var(--rule)}.past li:first-child{border:0;padding-top:.1rem}
.past li:last-child{padding-bottom:.1rem}
.past .when{float:right;margin-left:1rem;color:var(--soft);font-size:.85rem}
.past .code{font-weight:600;margin-right:.5rem}
footer{margin-top:2.2rem;color:var(--soft);font-size:.85rem}
footer a,a{color:inherit;text-underline-offset:.2em}footer a{margin-right:1rem}
#stale{display:none;position:sticky;top:0;background:var(--bad);color:#fff;text-align:center;padding:.5rem 1rem;font-weight:600}
.stale #stale{display:block}.stale main{opacity:.55}
@media (max-width:46rem){main{padding:1rem .9rem 2.5rem}.tiles{grid-template-columns:repeat(2,1fr)}.charts{grid-template-columns:1fr}
header time{margin-left:0;flex-basis:100%}.state{padding:1.15rem 1.1rem}.card{padding:1rem}.problem{padding-left:1.3rem}.past .when{float:none;display:block;margin:0}
thead{display:none}tr,td{display:block}tr+tr{border-top:1px solid var(--rule);margin-top:.7rem;padding-top:.7rem}
td{border:0;padding:.1rem 0}td.figure::before{content:attr(data-label)": ";color:var(--soft);font-size:.82rem}}
)css";

// Replaces only <main>, so that the position of the page stays. When a request fails, the last
// known status remains, with a banner. A page in a hidden tab sends no requests.
const std::string_view kStatusScript = R"js(
(function(){
  function look(){
    fetch(location.href,{cache:"no-store"}).then(function(answer){
      return answer.ok?answer.text():Promise.reject();
    }).then(function(text){
      var fresh=new DOMParser().parseFromString(text,"text/html");
      document.querySelector("main").replaceWith(fresh.querySelector("main"));
      document.title=fresh.title;
      document.body.className="";
    }).catch(function(){document.body.className="stale";});
  }
  setInterval(function(){if(!document.hidden)look();},5000);
  document.addEventListener("visibilitychange",function(){if(!document.hidden)look();});
})();
)js";

// SHA-256 of the script, including its line ends, in base64, as Content-Security-Policy expects it.
const std::string_view kStatusScriptHash = "osZQate9cr9dVFuptvUXm8tbTDhukR/oK+vv5hNevAE=";

}  // namespace walrelay
