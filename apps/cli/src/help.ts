export const HELP = `Usage: chirality <command> [options]

  serve                    The dashboard and the API, on this machine only
      --project DIR          A folder agents may work in; can be given more than once (default: this folder)
      --port N               The first port to try (default: 4096; 0 takes any)
      --no-open              Open no browser
      --leave-agents         Let agents work on when the server stops; the next one goes on with them
      --json                 {"url","port","token","pid","link"} as the first line
      --host H --expose --origin https://NAME, with --tls-cert FILE --tls-key FILE or --behind-proxy
                             Let other machines in. Whoever gets in has your shell: see docs/security.md
  run [PROMPT|-]           One turn of an agent, streamed. "-" reads the prompt from stdin.
      --project DIR          Where the agent works (default: this folder)
      --harness ID           Which agent: claude-code (the default) or codex
      --model M              Model name or alias
      --session ID           Continue an earlier session; each run shows its id
      --mode M               direct, the only one so far
      --permission-mode M    default, acceptEdits, dontAsk, plan or bypassPermissions (default: dontAsk)
      --tools LIST           Tools the agent may see: names, "default" (the default) or "" for none. Not codex
      --allow LIST           Tools that run without asking, e.g. "Read,Bash(git *)". Not codex
      --max-turns N          Most rounds of model and tools (default: 25). Not codex
      --timeout S            Stop the turn after S seconds
      --json                 One envelope a line on stdout
  doctor                   What is installed, what is logged in, what to do
      --project DIR  --json
  sessions import [ID]     What was said in a conversation that an agent keeps, and how to go on with it; without an
                           ID which ones there are. Reads only: this version keeps no list of sessions of its own
      --harness ID           Only this agent (default: both)
      --project DIR          Where it was started (default: this folder)
      --json                 One envelope a line; for the list, one conversation a line
  sessions list --native   The same list
  policy check             Whether the rules that answer agents can be read, file by file
  policy show              The rules in their order, and where your own are kept
  policy rehearse          What the rules would answer to past requests, where it differs from what happened
      --project DIR          Whose rules and sessions (default: this folder)
      --policy FILE          In the place of your policy for the project, to try a change
      --json                 One file, or one change, a line; rehearse ends with the totals
  translate [FILE|-]       An agent's raw NDJSON to UI events, one a line
      --harness ID           Which agent wrote it: claude-code (the default) or codex
  scripted-model           A model server on loopback that answers from a script
      --script FILE          JSON or YAML
      --port N               Default: any free port
      --json                 First line: {"url","port","pid"}

  --help, --version
  An argument that begins with a dash goes after "--": chirality run -- "--help me"

Exit codes: 0 done, 1 the turn failed, 2 wrong usage, 3 the agent is not installed, 4 not logged in,
5 budget or turn limit reached, 130 interrupted.
`
