// Package studio serves the workbench as a page: a configuration in an editor and, next to it,
// what each of its rules did on each page of its lists.
//
// A [Server] is the studio on a loopback address. [WriteStatic] writes the same page as files, which
// call the workbench in the browser.
//
// # Decisions
//
//   - The page is code alone, and anybody on the machine may read it. Everything else is an answer
//     to a call, and a call needs the token that is in the address of the page. The page keeps the
//     token in the storage of its tab and sends it in a header, which a page of another origin
//     cannot do.
//   - A request must have the Host of the server, so that a name that resolves to the loopback
//     address reaches nothing. A call must also have its Origin.
//   - The content security policy allows the two files of the page and nothing else: no inline
//     script or style, no other host, no HTML from texts.
//   - Secrets do not reach the page. Those that the configuration has in its text are replaced by
//     marks before it leaves ([masks]), and put back when it returns.
//   - The sources of the page are in web. Its bundle is in assets, so that nobody who builds the
//     command needs the tools for it; the gate builds it again and compares.
package studio
