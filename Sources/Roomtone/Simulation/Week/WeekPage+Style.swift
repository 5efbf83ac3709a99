/// The looks of the page.
extension WeekPage {
  /// The symbols, each of a shape of its own: no meaning hangs on colour alone.
  static let symbols: HTML = """
    <svg class="symbols" aria-hidden="true">
    <symbol id="failure" viewBox="0 0 16 16"><path d="M5 .8h6L15.2 5v6L11 15.2H5L.8 11V5Z" fill="currentColor"/>\
    <path d="m5 5 6 6m0-6-6 6" stroke="var(--page)" stroke-width="2" stroke-linecap="round"/></symbol>
    <symbol id="warning" viewBox="0 0 16 16"><path d="M8 1.5 15.2 14.5H.8Z" fill="currentColor" stroke="currentColor" \
    stroke-linejoin="round"/><path d="M8 6v4m0 1.8v.4" stroke="var(--page)" stroke-width="1.8" \
    stroke-linecap="round"/></symbol>
    <symbol id="fallback" viewBox="0 0 16 16"><path d="M2 3v4.5c0 2 1 3.5 3.5 3.5H12M9 7.2 13 11l-4 3.8" fill="none" \
    stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"/></symbol>
    <symbol id="alarm" viewBox="0 0 16 16"><path d="M8 1C4.9 1 3.6 3.4 3.6 6c0 3.6-1.8 4.5-1.8 6h12.4c0-1.5-1.8-2.4-1.8-6 \
    0-2.6-1.3-5-4.4-5ZM6 13.2a2 2 0 0 0 4 0Z" fill="currentColor"/></symbol>
    <symbol id="announcement" viewBox="0 0 16 16"><path d="M1.2 2h13.6v9H8l-4 3.6V11H1.2Z" fill="currentColor" \
    stroke="currentColor" stroke-linejoin="round"/></symbol>
    <symbol id="trigger" viewBox="0 0 16 16"><path d="M9.5 1 3 9h4.2L6.2 15 13 6.6H8.6Z" fill="currentColor"/></symbol>
    <symbol id="run" viewBox="0 0 16 16"><path d="M4 2.2 13 8 4 13.8Z" fill="none" stroke="currentColor" \
    stroke-width="1.8" stroke-linejoin="round"/></symbol>
    <symbol id="setting" viewBox="0 0 16 16"><path d="M1 5h14M1 11h14" stroke="currentColor" stroke-width="1.6" \
    stroke-linecap="round"/><circle cx="10.5" cy="5" r="2.6" fill="currentColor"/>\
    <circle cx="5.5" cy="11" r="2.6" fill="currentColor"/></symbol>
    <symbol id="note" viewBox="0 0 16 16"><path d="M2.5 3.5h11m-11 4.5h11m-11 4.5h7" stroke="currentColor" \
    stroke-width="1.8" stroke-linecap="round"/></symbol>
    <symbol id="recording" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6" fill="currentColor"/></symbol>
    </svg>
    """

  /// The style sheet. The colours are those of Okabe and Ito, darker or lighter where they are text or lines, so that
  /// people who confuse red and green tell them apart and the contrast is at least 4.5.
  static let style: HTML = """
    :root{color-scheme:light dark;--page:#fff;--ink:#1b1f24;--soft:#57606a;--line:#e4e7eb;--line6:#c9ced4;
    --panel:#f6f7f9;--out:#eceff2;--link:#0059a3;
    --music:#0072b2;--alarm:#8a5a00;--announcement:#a03a76;--interruption:#57606a;--recording:#00704f;
    --failure:#b43a00;--warning:#7a5600;--fallback:#5b3fa0;
    --music-area:#9cc9e6;--alarm-area:#f5cf80;--announcement-area:#e8bcd5;--interruption-area:#d3d8dd;
    --recording-area:#a5dcc8}
    @media (prefers-color-scheme:dark){:root{--page:#11161c;--ink:#e8ebee;--soft:#a3adb8;--line:#242b33;
    --line6:#3a444f;--panel:#1a2129;--out:#1a2028;--link:#7cc0f2;
    --music:#56b4e9;--alarm:#f0b429;--announcement:#e79fca;--interruption:#a3adb8;--recording:#3ecfa3;
    --failure:#ff8a4c;--warning:#f0e442;--fallback:#bba3f5;
    --music-area:#134f75;--alarm-area:#6b4a00;--announcement-area:#6b2e52;--interruption-area:#3a444f;
    --recording-area:#0b5a44}}
    *{box-sizing:border-box}
    html{-webkit-text-size-adjust:100%}
    body{margin:0 auto;max-width:110rem;padding:1.5rem clamp(.75rem,2.5vw,2.5rem) 4rem;background:var(--page);
    color:var(--ink);font:15px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;
    font-variant-numeric:tabular-nums}
    a{color:var(--link)}
    h1,h2,h3,p,dl,dd,ol,ul{margin:0;padding:0}
    h1{font-size:1.9rem;line-height:1.2;overflow-wrap:anywhere}
    h2{font-size:1.15rem;margin:2.25rem 0 .75rem}
    .kind{color:var(--soft);font-size:.8rem;letter-spacing:.06em;text-transform:uppercase}
    .span{color:var(--soft);margin-top:.25rem}
    .symbols{position:absolute;width:0;height:0}
    .sr{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
    .i{display:inline-block;width:1em;height:1em;vertical-align:-.12em;color:var(--soft)}
    .i.failure{color:var(--failure)}.i.warning{color:var(--warning)}.i.fallback{color:var(--fallback)}
    .i.alarm{color:var(--alarm)}.i.announcement{color:var(--announcement)}.i.recording{color:var(--recording)}
    .figures{display:flex;flex-wrap:wrap;gap:.5rem;margin-top:1.1rem}
    .figures div{display:flex;flex-direction:column-reverse;min-width:7rem;padding:.55rem .8rem;background:var(--panel);
    border-radius:.5rem}
    .figures dt{color:var(--soft);font-size:.8rem}
    .figures dt .i{margin-right:.35rem}
    .figures dd{font-size:1.35rem;font-weight:600;line-height:1.25}
    .bad dd{color:var(--failure)}
    .findings ol{list-style:none;border-left:3px solid var(--failure);padding-left:.9rem}
    .findings li{padding:.18rem 0;overflow-wrap:anywhere}
    .findings .i{margin-right:.5rem}
    .more,.times{color:var(--soft)}.times{white-space:nowrap}
    .legend{display:flex;flex-wrap:wrap;gap:.3rem 1.25rem;list-style:none;color:var(--soft);font-size:.85rem;
    margin-bottom:1rem}
    .legend .i,.key{margin-right:.4rem}
    .key{display:inline-block;width:1.5rem;height:.85rem;vertical-align:-.1em;border-bottom:4px solid var(--c);
    background:var(--a)}
    .music{--c:var(--music);--a:var(--music-area)}
    .b.alarm,.key.alarm,.strip .alarm{--c:var(--alarm);--a:var(--alarm-area)}
    .b.announcement,.key.announcement,.strip .announcement{--c:var(--announcement);--a:var(--announcement-area)}
    .interruption{--c:var(--interruption);--a:var(--interruption-area)}
    .b.recording,.key.recording,.strip .recording{--c:var(--recording);--a:var(--recording-area)}
    .key.alarm{border-bottom-style:dashed}.key.announcement{border-bottom-style:dotted}
    .key.interruption,.key.recording{border-bottom-style:double}
    .glance ol{list-style:none}
    .glance a{display:flex;align-items:center;gap:.75rem;padding:.2rem 0;color:inherit;text-decoration:none}
    .glance a:hover .on,.glance a:focus .on{text-decoration:underline}
    .on{flex:0 0 14.5rem;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
    .on small,.of{color:var(--soft);font-size:.85rem}
    .strip{position:relative;flex:1;height:1.1rem;background:var(--panel);border-radius:.2rem;overflow:hidden}
    .strip i{position:absolute;top:0;bottom:0;min-width:2px;background:var(--c)}
    .strip .recording{top:70%}
    .of{flex:0 0 11rem;display:flex;align-items:center;gap:.35rem}
    .of .i{margin-left:.35rem}
    .back{display:none;margin-bottom:.75rem}
    .week:has(.day:target) .back{display:block}
    .week:has(.day:target) .day:not(:target){display:none}
    @media (min-width:600px){.day:target .lane{height:4.25rem}.day:target .b{height:4rem}
    .day:target .b.recording{height:1.25rem}
    .day:target .lane.flat{height:2rem}.day:target .lane.both{height:5.25rem}}
    .day{scroll-margin-top:7rem;margin-top:1.1rem;padding-top:.7rem;border-top:1px solid var(--line6)}
    .day .top{display:flex;flex-wrap:wrap;align-items:baseline;gap:0 1rem;margin-bottom:.35rem}
    h3{display:inline;font-size:1rem}
    h3 span{font-weight:400;color:var(--soft)}
    .sum{color:var(--soft);font-size:.85rem}
    .change{flex-basis:100%;font-size:.85rem}
    .axis,.lane{margin-left:9rem;position:relative}
    .axis{height:1.2rem;font-size:.75rem;color:var(--soft)}
    .axis span{position:absolute;transform:translateX(-50%)}
    .axis span:first-child{transform:none}
    .lane{height:2.75rem;border-bottom:1px solid var(--line)}
    .lane.flat{height:1.75rem}.lane.both{height:3.75rem}
    .name{position:absolute;right:100%;top:50%;transform:translateY(-50%);width:9rem;padding-right:.75rem;font-size:.85rem;line-height:1.2;
    display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;overflow:hidden;overflow-wrap:anywhere}
    .flat .name{-webkit-line-clamp:1}
    .track{position:absolute;inset:0}
    .g{position:absolute;top:0;bottom:0;width:0;border-left:1px solid var(--line)}
    .g6{border-color:var(--line6)}
    .gc{border-left:2px dashed var(--ink)}
    .out,.none{position:absolute;top:0;bottom:0}
    .out{background:repeating-linear-gradient(135deg,var(--out) 0 4px,transparent 4px 8px)}
    .none{background:var(--page)}
    .b{position:absolute;bottom:0;height:2.5rem;min-width:3px;color:var(--ink);text-decoration:none}
    .b>svg{position:absolute;inset:0;width:100%;height:100%;overflow:visible}
    .b path{fill:var(--a);stroke:var(--c);stroke-width:1px;vector-effect:non-scaling-stroke}
    .b::after{content:"";position:absolute;left:0;right:0;bottom:0;border-bottom:4px solid var(--c)}
    .b.alarm::after{border-bottom-style:dashed}.b.announcement::after{border-bottom-style:dotted}
    .b.interruption::after{border-bottom-style:double}
    .b.recording{height:1.25rem;background:var(--a);border:1px solid var(--c)}
    .b.recording::after{border-bottom-style:double}
    .l{position:absolute;left:.35rem;right:.2rem;top:.1rem;text-shadow:0 0 2px var(--page),0 0 2px var(--page),0 0 3px var(--page);font-size:.78rem;line-height:1.2;white-space:nowrap;
    overflow:hidden;text-overflow:ellipsis}
    .k{position:absolute;top:.1rem;width:1rem;margin-left:-.5rem;height:1rem;z-index:1;text-decoration:none;
    color:var(--soft)}
    .k .i{display:block;width:.85rem;height:.85rem;margin:.075rem}
    .flat .k{top:.35rem}
    .k em{position:absolute;left:1rem;top:0;font:.68rem/1rem inherit;font-style:normal;font-size:.68rem;
    line-height:1rem}
    .tip{position:absolute;left:0;top:calc(100% + 4px);width:1px;height:1px;overflow:hidden;clip-path:inset(50%);
    font-size:.82rem;line-height:1.4;pointer-events:none}
    .tip span{display:block}
    .r .tip{left:auto;right:0}
    .b:hover,.b:focus,.k:hover,.k:focus{z-index:8}
    :is(.b,.k):is(:hover,:focus)>.tip{width:max-content;max-width:22rem;height:auto;clip-path:none;padding:.5rem .7rem;
    background:var(--ink);color:var(--page);border-radius:.4rem;overflow-wrap:anywhere}
    a:focus-visible,summary:focus-visible{outline:3px solid var(--link);outline-offset:2px}
    .k:not(.w){display:none}
    details{margin-top:.5rem;border-top:1px solid var(--line6);padding-top:.5rem}
    summary{cursor:pointer}
    summary>span{color:var(--soft);font-size:.85rem;margin-left:.5rem}
    table{width:100%;border-collapse:collapse;margin:.5rem 0 1rem}
    th,td{text-align:left;vertical-align:top;padding:.22rem .75rem .22rem 0;border-bottom:1px solid var(--line);
    overflow-wrap:anywhere}
    th{color:var(--soft);font-size:.8rem;font-weight:500}
    th:nth-child(1){width:5.5rem}th:nth-child(2){width:14rem}
    td:nth-child(1){white-space:nowrap;color:var(--soft)}
    td .i{margin-right:.45rem}
    tr.failed td:nth-child(3){font-weight:600}
    tr:target td{background:var(--panel);box-shadow:0 2px 0 var(--link)}
    @media (max-width:1199px){.k.w{display:none}.k.m{display:block}.l.w{display:none}
    .axis,.lane{margin-left:7.5rem}.name{width:7.5rem}}
    @media (max-width:599px){body{font-size:14px;padding-top:1rem}h1{font-size:1.5rem}
    .k.m{display:none}.k.n{display:block}.l.m{display:none}.axis .h3{display:none}
    .axis,.lane{margin-left:0}.lane,.lane.flat,.lane.both{height:auto;border:0;padding-top:1.1rem;margin-bottom:.25rem}
    .name{-webkit-line-clamp:1!important;top:0;transform:none;right:auto;left:0;bottom:auto;width:100%;padding:0;color:var(--soft);font-size:.78rem}
    .track{position:relative;inset:auto;height:2.5rem;border-bottom:1px solid var(--line)}
    .flat .track{height:1.4rem}.both .track{height:3.6rem}.flat .k{top:.2rem}
    .on{flex-basis:6.5rem}.on small{display:none}.of{flex-basis:6rem;flex-wrap:wrap}
    .figures div{flex:1 1 40%;min-width:0}.figures dd{font-size:1.15rem}
    :is(.b,.k):is(:hover,:focus)>.tip{position:fixed;inset:auto .5rem .5rem;width:auto;max-width:none}
    table,tbody,tr,td{display:block}thead{display:none}
    tr{padding:.35rem 0;border-bottom:1px solid var(--line)}td{border:0;padding:0}
    td:nth-child(1),td:nth-child(2){display:inline;margin-right:.5rem;font-size:.85rem}}
    @media print{:root{--page:#fff;--ink:#000;--soft:#444;--line:#ddd;--line6:#aaa;--panel:#f2f2f2;--link:#000;
    --out:#e8e8e8}
    @page{margin:12mm}html{font-size:11px}
    .lane{height:2.4rem}.lane.flat{height:1.5rem}.lane.both{height:3.2rem}.b{height:2.1rem}.flat .k{top:.2rem}
    table{font-size:.8rem}th,td{padding:.1rem .5rem .1rem 0}
    body{padding:0;max-width:none;font-size:11px;print-color-adjust:exact;-webkit-print-color-adjust:exact}
    .tip,.glance{display:none}.day,.findings li,tr,.figures{break-inside:avoid}h2{break-after:avoid}
    .events{break-before:page}a{color:inherit;text-decoration:none}
    details>*{display:revert}}

    """
}
