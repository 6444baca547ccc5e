/**
 * The page docs/cli.md, made from the table of verbs.
 * Pure: `daglog commands --markdown` prints it, and a test holds the file in docs/ against it.
 */
import { EXIT_CODES, type ExitCode } from './exit-codes.js'
import { COMMON_FLAGS, exitsOf, type Flag, termOf, usageOf, type Verb } from './verb.js'

export function docsPage(verbs: readonly Verb[]): string {
  return `${[
    '# The command line',
    '<!-- Made by `daglog commands --markdown`; change src/cli/verbs.ts instead. -->',
    INTRODUCTION,
    '## Options of every verb',
    flagTable(COMMON_FLAGS),
    '## Exit codes',
    exitTable(Object.keys(EXIT_CODES).map(Number) as ExitCode[]),
    '## Verbs',
    ...verbs.map(verbSection),
  ].join('\n\n')}\n`
}

const INTRODUCTION = `Standard output is data, standard error is talk. \`--json\` prints exactly one JSON document with a
\`schema\` member; \`--jsonl\`, where a verb streams, one object a line. Nothing ever asks a question.
Recorded text is printed with its control characters escaped; \`cat\` and \`export\` pass on bytes as
they are, unless to a terminal.

A store is found by \`--store\`, else \`DAGLOG_DIR\`, else the nearest \`.daglog\` upward from the working
directory. Only \`init\`, \`import\`, \`record\` and \`proxy\` make one.

A run is named by its id, a unique beginning of it (with or without the date), \`@last\` or \`@last~N\`
(replays are skipped). \`RUN@SEQ\` means the run as of that event.

An error has three lines: its code and what happened, the cause, and what to try. A stack is printed
only with \`-v\`.`

function verbSection(verb: Verb): string {
  const parts = [`### ${verb.name}`, `${verb.summary}.`, fenced(usageOf(verb))]
  if (verb.arguments.length > 0)
    parts.push(verb.arguments.map(({ name, summary }) => `- \`${name}\`: ${summary}`).join('\n'))
  if (verb.flags.length > 0) parts.push(flagTable(verb.flags))
  parts.push(
    fenced(verb.examples.map(({ command, says }) => `$ ${command}\n  # ${says}`).join('\n')),
  )
  parts.push(`Exit codes: ${exitsOf(verb).join(', ')}`)
  return parts.join('\n\n')
}

function fenced(text: string): string {
  return `\`\`\`\n${text}\n\`\`\``
}

function flagTable(flags: readonly Flag[]): string {
  const rows = flags.map((flag) => {
    const choices = flag.choices === undefined ? '' : ` (${flag.choices.join(', ')})`
    return `| \`${termOf(flag)}\` | ${cell(`${flag.summary}${choices}`)} |`
  })
  return ['| option | means |', '|---|---|', ...rows].join('\n')
}

function exitTable(codes: readonly ExitCode[]): string {
  const rows = codes.map((code) => `| ${code} | ${cell(EXIT_CODES[code])} |`)
  return ['| code | means |', '|---|---|', ...rows].join('\n')
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}
