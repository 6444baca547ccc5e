#!/usr/bin/env python3
"""Verifies a daglog store without daglog: Python's standard library, and docs/format.md.

    python3 verify.py STORE [--run ID] [--head SEQ:HASH] [--json]

Reads only. Prints a line for the store's own log and one for each run: ok, damaged or incomplete; its name; the level
reached; its events; its head; what is wrong or missing. Exit codes: 0 ok, 3 damaged, 5 incomplete or not all checked,
1 no store, a newer one or no such run, 2 wrong usage.
"""
import argparse, collections, functools, hashlib, json, mmap, os, re, struct, sys, tempfile, zlib
try:
    import brotli
except ImportError:
    brotli = None  # Not in the standard library: objects in such blocks are then not checked.

GENESIS, ALL = '0' * 64, 2 ** 53
Frame = collections.namedtuple('Frame', 'seq type lag left extra hash body redacted fault')
NUMBER = rb'(0|[1-9][0-9]{0,15})'
HEAD = re.compile(rb'\{"seq":' + NUMBER + rb',"time":' + NUMBER + rb',"type":"([^"]*)"(?:,"lag":' + NUMBER
                  + rb'|(?!,"lag":))(?:,"left":' + NUMBER + rb'|(?!,"left":))((?:,".*)?)', re.S)
HASHES = re.compile(rb',"commit":"(.{64})","hash":"(.{64})","body":', re.S)
FAULTS = {'form': 'this is no frame', 'commit': 'the body does not match its commitment', 'seq': 'another seq is here',
          'hash': 'the hash does not follow from the frame before', 'unfinished': 'the line does not end'}

def sha256(data):
    return hashlib.sha256(data).hexdigest()

def names_in(directory):
    return sorted(os.listdir(directory)) if os.path.isdir(directory) else []

def mapped(path):
    """The bytes of a file, read as they are needed; none where there is none."""
    if not os.path.isfile(path) or os.path.getsize(path) == 0: return b''
    with open(path, 'rb') as file: return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

class Input:
    """Numbers (seven bits a byte, low ones first) and bytes, read one after the other."""
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        value = shift = 0
        while True:
            byte, self.at = self.data[self.at], self.at + 1
            value, shift = value | (byte & 127) << shift, shift + 7
            if byte < 128: return value

    def signed(self):
        number = self.number()
        return -(number + 1 >> 1) if number % 2 else number >> 1

    def take(self, length):
        self.at += length
        if self.at > len(self.data): raise ValueError('it ends too early')
        return bytes(self.data[self.at - length:self.at])

# --- Frames: docs/format.md#frame, #body ---

def filler(length):
    return b'{"redacted":"' + b'x' * (length - 15) + b'"}'

def bad(fault):
    return Frame(*[None] * 8, fault)

def read_frame(data, at, end, prev):
    """The frame in data[at:end], without its newline, that follows the hash `prev` (None: unknown). Look at `fault`."""
    commit_at = data.find(b',"commit":"', at, end)
    hashes = HASHES.match(data, commit_at, end) if commit_at >= 0 else None
    head = HEAD.fullmatch(data, at, commit_at) if hashes else None
    if not head or hashes.end() >= end or data[end - 1] != 0x7d: return bad('form')
    seq, time, lag, left = (int(head[n] or 0) for n in (1, 2, 4, 5))
    if max(seq, time, lag, left) >= ALL: return bad('form')
    body, commit, own = data[hashes.end():end - 1], hashes[1], hashes[2].decode('latin1')
    redacted = sha256(body).encode() != commit
    if redacted and body != filler(len(body)): return bad('commit')
    signed = data[at:hashes.start() + 76]  # Up to and with the closing quote of commit.
    right = re.fullmatch('[0-9a-f]{64}', own) if prev is None else own == sha256(prev.encode() + signed)
    return Frame(seq, head[3].decode('latin1'), lag, left, head[6], own, body, redacted, None) if right else bad('hash')

def next_frame(data, at, end):
    """The next well-formed frame, also inside a line, as (start, end, frame); or None."""
    while (stop := data.find(b'\n', at, end)) >= 0:
        start = at
        while 0 <= start < stop:
            frame = read_frame(data, start, stop, None)
            if not frame.fault: return start, stop + 1, frame
            start = data.find(b'{"seq":', start + 1, stop)
        at = stop + 1

def data_of(frame):
    return json.loads(frame.body)['data']

def refs_of(frame):
    """[pointer, sha256, root, size, kind] of each value out of line. They stand right after the salt, or nowhere."""
    if frame.redacted or frame.body[43:50] != b'"refs":': return []
    return json.JSONDecoder().raw_decode(frame.body.decode(), 50)[0]

# --- Logs: docs/format.md#segments, #cold-segments, #recovery ---

def segment_bytes(pieces, fault):
    """The bytes of a segment, put together in a file of our own where it is more than one piece of text."""
    pieces = [pieces[base] for base in sorted(pieces)]
    if len(pieces) == 1 and pieces[0].endswith('.jsonl'): return mapped(pieces[0])
    with tempfile.TemporaryFile() as whole:
        for piece in pieces: whole.write(at_rest(piece, fault) if piece.endswith('.z') else mapped(piece))
        whole.flush()
        return mmap.mmap(whole.fileno(), 0, access=mmap.ACCESS_READ) if whole.tell() else b''

def at_rest(path, fault):
    """The lines of a piece that was laid to rest. A block that is not as it was written reads as zeros."""
    data, at, blocks = mapped(path), 8, []
    table = len(data) - 56 - 8 * int.from_bytes(data[-16:-12], 'little')  # Where the footer begins.
    whole = (data[:8], data[-8:]) == (b'dagcold\1', b'dagcoldE') and table >= 8
    whole = whole and zlib.crc32(data[table:-12]) == int.from_bytes(data[-12:-8], 'little')
    if not whole: fault(f'{os.path.basename(path)}: its footer is damaged')
    while at + 64 <= (table if whole else len(data)):
        size, stored = struct.unpack_from('<I', data, at + 4)[0], 64 + sum(struct.unpack_from('<II', data, at + 12))
        if whole: size, stored = struct.unpack_from('<II', data, table + 8 * len(blocks))
        start = int.from_bytes(data[at + 24:at + 32], 'little'), data[at + 32:at + 64].hex()
        try: lines, end = unpacked(data[at:at + stored], *start)
        except (ValueError, LookupError, struct.error, zlib.error): lines, end = None, None
        if lines is None and not whole: break
        blocks.append((size, start, lines or b'', end))
        at += stored
    after = (int.from_bytes(data[-56:-48], 'little'), data[-48:-16].hex()) if whole else blocks and blocks[-1][3]
    ends = [start for _, start, _, _ in blocks[1:]] + [after]  # A block always fits itself; it must also fit the next.
    return b''.join(lines if (len(lines), end) == (size, then) else bytes(size)
                    for (size, _, lines, end), then in zip(blocks, ends))

def unpacked(block, seq, prev):
    """The lines of a block, and (seq, hash before) of the next: salts lie apart, what can be computed is left out."""
    mark, codec, zero, _, plain, salts, stored, crc = struct.unpack_from('<BBHIIIII', block)
    right = 0x42, 0, zlib.crc32(block[24:], zlib.crc32(block[:20])), 64 + salts + stored
    if (mark, zero, crc, len(block)) != right: raise ValueError('this is no block')
    salts, rest, lines, time = Input(block[64:64 + salts]), block[64 + salts:], [], 0
    rest = Input(zlib.decompressobj(-15).decompress(rest, plain + 1) if codec == 1 else rest)
    types = [rest.take(rest.number()).decode('latin1') for _ in range(rest.number())]
    while rest.at < len(rest.data):
        flags = rest.take(1)[0]
        if flags == 1:  # A line as it is.
            lines.append(rest.take(rest.number()))
            frame = read_frame(lines[-1], 0, len(lines[-1]) - 1, prev)
            if not frame.fault and frame.seq == seq and lines[-1].endswith(b'\n'): seq, prev = seq + 1, frame.hash
            continue
        kind, time = types[rest.number()], time + rest.signed()
        lag = f',"lag":{rest.number()}' if flags & 2 else ''
        left = f',"left":{rest.number()}' if flags & 4 else ''
        commit = rest.take(32).hex() if flags & 8 else None
        salt = b'' if commit else b'{"salt":"%s",' % salts.take(16).hex().encode()
        body = filler(rest.number()) if commit else salt + rest.take(rest.number())
        signed = f'{{"seq":{seq},"time":{time},"type":"{kind}"{lag}{left},"commit":"{commit or sha256(body)}"'
        seq, prev = seq + 1, sha256((prev + signed).encode('latin1'))
        lines.append(f'{signed},"hash":"{prev}","body":'.encode('latin1') + body + b'}\n')
    return b''.join(lines), (seq, prev)

class Log:
    """The segments of one log: which bytes of them count, and what is wrong with the frames there."""
    def __init__(self, directory, stem):
        self.spans, self.stray, self.problems, self.faults, self.torn, pieces = [], [], [], [], None, {}
        for name in sorted(names_in(directory), reverse=True):  # Of two pieces at one offset the text, .jsonl, is meant.
            m = re.fullmatch(stem + r'\.([0-9]{6,})(?:\.([1-9][0-9]*))?\.(?:jsonl|z)', name)
            if m: pieces.setdefault(int(m[1]), {})[int(m[2] or 0)] = os.path.join(directory, name)
        self.segments = {number: segment_bytes(found, self.faults.append) for number, found in pieces.items()}
        self.rest_ends = {number: max(found) for number, found in pieces.items()}  # What was laid to rest was durable.
        after = None  # What the segment after this one says of it.
        for number in sorted(self.segments, reverse=True):
            data = self.segments[number]
            opened = self.opening(number, data) if after is None or after.get('segment') == number else None
            length = 0 if opened is None else after['length'] if after else len(data)
            if length < len(data): self.stray.insert(0, {'segment': number, 'offset': length, 'bytes': len(data) - length})
            if opened is None: continue
            follows = opened.get('head', {'seq': -1, 'hash': GENESIS})
            self.spans.insert(0, (number, min(length, len(data)), follows['seq'] + 1, follows['hash']))
            after = opened if follows['hash'] else None  # It cannot say what it follows: the one before, whole.
        if self.spans and not self.spans[0][3]: self.problem('frame', 0, 'what the first segment follows is not known')

    def problem(self, kind, seq, reason, **place):
        self.problems.append({'kind': kind, 'seq': seq, **place, 'reason': reason})

    def opening(self, number, data):
        """What a segment follows, by its first frame: {} nothing, None: that frame never became whole."""
        frame = read_frame(data, 0, max(data.find(b'\n'), 0), None)
        if number == 0 or frame.seq == 0: return {}
        if frame.type == 'writer/open' and not frame.redacted: return data_of(frame)['previous']
        if not frame.fault: return self.broken(number, frame.seq)
        at, count = 1, 0
        while found := next_frame(data, at, len(data)):  # Unless a later frame says that it had been: then it is damaged.
            at, count = found[1], count + 1
            if found[2].lag < count: return self.broken(number, found[2].seq - count)

    def broken(self, number, seq):
        """A first frame that should say what it follows and cannot be believed; what is behind it may be whole."""
        self.problem('frame', seq, 'the first frame of the segment is not as it was written', segment=number, byte=0)
        return {'head': {'seq': seq - 1, 'hash': None}, 'length': 0}

    def walk(self, covered, has, visit):
        """Visit the frames that stand, in order, and go on after bad ones. `covered`: the seq of a known head, or -1."""
        seq, prev = 0, GENESIS
        for number, end, first_seq, first_prev in self.spans:
            if first_prev and (seq, prev) != (first_seq, first_prev):
                self.problem('frame', seq, 'the segment before does not end where this one begins', segment=number, byte=0)
            data, at, seq, prev, last = self.segments[number], 0, first_seq, first_prev, number == self.spans[-1][0]
            if not first_prev: at, seq = next((at, frame.seq) for at, _, frame in [next_frame(data, 0, end)])
            pending, durable = [], covered  # Frames that a crash may have torn, and the last seq that it may not.
            while at < end:
                stop = data.find(b'\n', at, end)
                frame = read_frame(data, at, stop, prev) if stop >= 0 else bad('unfinished')
                fault = frame.fault or (frame.seq != seq and 'seq')
                if not fault:
                    durable = max(durable, seq - frame.lag - 1)
                    pending.append((frame, at))
                    if frame.left == 0 and pending[0][0].seq <= durable: pending = self.settle(pending, durable, visit)
                    seq, prev, at = seq + 1, frame.hash, stop + 1
                    continue
                unsure = last and seq > covered and at >= self.rest_ends[number]
                if unsure and not self.was_durable(data, seq, at, end, fault): break  # Torn.
                pending = self.settle(pending, ALL, visit)
                self.problem('frame', seq, FAULTS[fault], segment=number, byte=at)
                at, _, found = next_frame(data, at + 1, end) or (end, end, None)
                if found: seq, prev = found.seq, None
            if last: pending = self.without_torn(pending, number, at, end, durable, has)
            self.settle(pending, ALL, visit)

    def settle(self, pending, seq, visit):
        """Visit the frames up to `seq`, as far as their appends are whole; return the others."""
        count = sum(frame.seq <= seq for frame, _ in pending)
        while seq < ALL and count and pending[count - 1][0].left: count -= 1
        for frame, _ in pending[:count]: visit(frame)
        return pending[count:]

    def without_torn(self, pending, number, at, end, durable, has):
        """The whole frames end at `at`. Leave off an append that a crash tore; return the frames that stand."""
        whole = [frame.seq <= durable or all(map(has, refs_of(frame))) for frame, _ in pending] + [False]
        count = whole.index(False)
        while count and pending[count - 1][0].left: count -= 1
        at = pending[count][1] if count < len(pending) else at
        if at < end: self.torn = f'{end - at} torn bytes at {at} of segment {number}'
        return pending[:count]

    def was_durable(self, data, seq, at, end, fault):
        """Whether the bad line where frame `seq` belongs had reached the disk. Then it is damaged, else it is torn."""
        stop = data.find(b'\n', at, end)
        line, kept, brace = (data[at:end], 1, b'') if stop < 0 else (data[at:stop + 1], 2, b'}')
        if fault in ('form', 'unfinished') and len(line) > kept and line[-kept] != 0:  # A crash leaves zeros or nothing.
            if not read_frame(line[:-kept] + brace, 0, len(line) - 1, None).fault: return True
        while found := next_frame(data, at + 1, end):
            at = found[1] - 1
            if found[2].seq > seq and found[2].seq - found[2].lag - 1 >= seq: return True
        return False

    def hashes_at(self, seq):
        for number, end, first_seq, _ in self.spans:
            at = 0
            while first_seq <= seq and (found := next_frame(self.segments[number], at, end)):
                at = found[1]
                if found[2].seq == seq: yield found[2].hash

# --- Objects: docs/format.md#open-objects, #packs, #ropes, #trees ---

def open_objects(path):
    """The objects of objects.open by name. A record that is not whole hides none behind it."""
    data, at, found = mapped(path), 0, {}
    while at + 41 <= len(data):
        length, crc = struct.unpack_from('<II', data, at)
        end = at + 41 + length
        whole = data[at + 40] in (1, 2, 3) and end <= len(data)
        if whole and crc == zlib.crc32(data[at + 8:end], zlib.crc32(data[at:at + 4])):
            found[data[at + 8:at + 40].hex()] = memoryview(data)[at + 41:end]
            at = end
        else: at += 1
    return found

class Packs:
    """The packed objects of a store. Packs store no names: every block is unfolded once to learn what it holds."""
    def __init__(self, directory):
        names = [name for name in names_in(directory) if re.fullmatch(r'[0-9a-f]{64}\.pack', name)]
        self.packs, self.block_of, self.unread = [mapped(os.path.join(directory, name)) for name in names], {}, False
        for pack in self.packs:
            at = 8
            while at + 32 <= len(pack) and pack[at] == 0x42:
                _, codec, _, key, _, _, table, _, stored, crc = struct.unpack_from('<BBHIIIIIII', pack, at)
                block, at = (pack, at), at + 32 + table + stored
                if crc != zlib.crc32(pack[block[1] + 32:at], zlib.crc32(pack[block[1]:block[1] + 28])): continue  # Damaged.
                if key or codec > 2 or (codec == 2 and not brotli): self.unread = True
                else: self.block_of.update((name, block) for name in self.unfold(block))

    def get(self, name):
        """Its bytes, or None. Where a block could not be unfolded, it may be in there: 'not checked'."""
        block = self.block_of.get(name)
        return self.unfold(block)[name] if block else 'not checked' if self.unread else None

    @functools.lru_cache(64)
    def unfold(self, block):
        """Objects of a block by name: what they hash to, once the hashes that were lifted out of them are put back."""
        pack, at = block
        _, codec, _, _, count, refs, table, plain, stored, _ = struct.unpack_from('<BBHIIIIIII', pack, at)
        sizes, data = Input(pack[at + 32:at + 32 + table]), pack[at + 32 + table:at + 32 + table + stored]
        sizes = [sizes.number() >> 2 for _ in range(count)]
        if codec == 1: data = zlib.decompressobj(-15).decompress(data, plain + 1)
        if codec == 2: data = brotli.decompress(data)
        kept, lifted = Input(data[:sum(sizes) - 32 * refs]), Input(data[sum(sizes) - 32 * refs:])
        found, names, pos, end, number, ref_at = {}, [], 0, 0, 0, lifted.number() if refs else ALL
        for size in sizes:
            end, whole = end + size, b''
            while ref_at + 32 <= end:
                whole, number = whole + kept.take(ref_at - pos), number + lifted.signed()
                whole, pos, number, refs = whole + bytes.fromhex(names[number]), ref_at + 32, number + 1, refs - 1
                ref_at = pos + lifted.number() if refs else ALL
            whole, pos = whole + kept.take(end - pos), end
            names.append(sha256(whole))
            found[names[-1]] = whole
        return found

def check_value(ref, get):
    """Whether the value of a ref is whole, missing, damaged or not checked. Its root is a blob where it has its name."""
    _, digest, root, size, _ = ref
    return check_rope(root, size, get, digest)

def check_rope(root, size, get, digest=None, seen=None):
    """The same of a rope, or where `digest` is given of a rope or blob with these exact bytes."""
    hashing, todo = hashlib.sha256(), [(root, root != digest, size)]
    while todo:
        name, is_rope, size = todo.pop()
        data = get(name) if name else size  # Without a name: literal bytes of a rope's node.
        if data is None or data == 'not checked': return data or 'missing'
        if name and sha256(data) != name: return 'damaged'
        if name and seen is not None: seen.add(name)
        if not is_rope:
            if name and len(data) != size: return 'damaged'
            hashing.update(data)
            continue
        node, entries, total = Input(data), [], 0
        if node.take(1) != b'\1': return 'damaged'
        while node.at < len(data):
            head = node.number()
            child, total = node.take(32 if head & 3 else head >> 2), total + (head >> 2)
            entries.append((child.hex(), head & 3 == 2, head >> 2) if head & 3 else (None, False, child))
        if total != size: return 'damaged'
        todo += reversed(entries)
    return 'damaged' if digest and hashing.hexdigest() != digest else 'whole'

def check_tree(root, get, seen):
    """The same of a tree, which is its objects; those in `seen` were whole before."""
    todo = [(root, True)]
    while todo:
        name, what = todo.pop()  # True a node, False a blob, else a rope of that length.
        if name in seen: continue
        if what not in (True, False):
            state = check_rope(name, what, get, seen=seen)
            if state != 'whole': return state
            continue
        data = get(name)
        if data is None or data == 'not checked': return data or 'missing'
        if sha256(data) != name: return 'damaged'
        seen.add(name)
        if what is True: todo += tree_children(Input(data))
    return 'whole'

def tree_children(node):
    """(name, what it is) of each object that a node of a tree refers to: True a node, False a blob, else a rope of that length."""
    tag, found = node.take(1)[0] - 32, []
    if tag in (4, 5): node.number()  # Integers.
    elif tag in (6, 10): node.take(8)  # Another number, a date.
    elif tag in (7, 8, 9): node.take(node.number())  # Text, bytes, a large integer.
    elif tag in (11, 12, 13):  # The same where they are long.
        length, kind = node.number(), node.take(1)[0]
        found = [(node.take(32).hex(), length if kind == 2 else False)]
    elif tag == 16:  # An object of a few keys.
        for _ in range(node.number()):
            node.take(node.number())
            found += tree_children(node)
    elif tag == 17:  # An object of many keys, or a part of one.
        entries, parts = (bin(int.from_bytes(node.take(2), 'big')).count('1') for _ in range(2))
        for n in range(entries + parts):
            if n < entries: node.take(node.number())
            found += tree_children(node)
    elif tag in (18, 19):  # A list, or a part of one: elements, or parts.
        if tag == 19: node.number()
        for _ in range(node.number()): found += tree_children(node)
    elif tag in (20, 21):  # A value, or a part, that is an object of its own.
        if tag == 21: node.number()
        found = [(node.take(32).hex(), True)]
    elif not 0 <= tag <= 3: raise ValueError(f'{tag} is no part of a tree')
    return found

# --- The store and its runs: docs/format.md#store-layout, #store-log, #what-verify-proves ---

class Store:
    def __init__(self, root):
        self.root, self.heads, frames, log = root, {}, [], Log(root, 'store')
        try:
            with open(os.path.join(root, 'store.json'), encoding='utf-8') as file: manifest = json.load(file)
            version, needs = manifest['format']['read'], manifest.get('features', {}).get('mustUnderstand', [])
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            sys.exit(f'no store at {root}: {error!r}')
        if version > 1 or needs: sys.exit(f'{root}: read version {version}, features {needs}; try a newer verify.py')
        log.walk(-1, lambda ref: True, lambda frame: log.problems or frames.append(frame))
        for frame in frames:
            if frame.redacted or frame.type not in ('run/head', 'run/deleted'): continue
            data = data_of(frame)
            before = self.heads.pop(data['id'], None)
            higher = before and before['run'] == data['run'] and before['seq'] > data['seq']  # That one counts.
            if frame.type == 'run/head': self.heads[data['id']] = before if higher else data
        self.ids = {head['run']: run_id for run_id, head in self.heads.items()}
        paths = {name: os.path.join(root, 'runs', name) for name in names_in(os.path.join(root, 'runs'))}
        is_run = re.compile(r'(?!\.)([a-z0-9_.-]|%[0-9a-f]{2})+|.{80}%~[0-9a-f]{64}')
        names = [name for name, path in paths.items() if is_run.fullmatch(name) and os.path.isdir(path)]
        self.places = {self.run_id(name): paths[name] for name in names}
        self.report = {'ok': not log.problems, 'events': len(frames), 'problems': log.problems,
                       'incomplete': [log.torn] if log.torn else []}

    def run_id(self, name):
        """The name of a directory spells the id; a very long one is in frame 0 only."""
        if '%~' not in name:
            return re.sub(b'%(..)', lambda m: bytes([int(m[1], 16)]), name.encode()).decode('utf-8', 'replace')
        data = Log(os.path.join(self.root, 'runs', name), 'log').segments.get(0, b'')
        frame = read_frame(data, 0, max(data.find(b'\n'), 0), GENESIS)
        return name if frame.fault or frame.redacted else data_of(frame)['id']

    @functools.cached_property
    def packs(self):
        return Packs(os.path.join(self.root, 'packs'))

class Run:
    """The audit of one run. `given`: a head of it that was kept elsewhere, or None."""
    def __init__(self, store, run_id, given):
        path = store.places.get(run_id, '')
        self.store, self.id, self.given, self.noted = store, run_id, given, store.heads.get(run_id)
        self.log, self.own = Log(path, 'log'), open_objects(os.path.join(path, 'objects.open'))
        self.hashes, self.head, self.extra, self.steps, self.turn, self.ended_unseen = {}, None, b'', {}, None, 0
        self.answers, self.nodes, self.unread = {}, set(), 0
        self.recovered, self.redacted, self.authorised = [], {}, set()
        self.log.walk(self.noted['seq'] if self.noted else -1, lambda ref: self.get(ref[2]) is not None, self.visit)
        for reason in self.log.faults: self.log.problem('medium', len(self.hashes), reason)
        self.incomplete = [] if self.head else ['the run has no whole event']
        self.check_redactions()
        self.check_heads()
        self.check_parent()

    def get(self, name):
        return self.own[name] if name in self.own else self.store.packs.get(name)

    def visit(self, frame):
        try: self.take(frame)
        except (ValueError, LookupError, TypeError):
            self.log.problem('frame', frame.seq, 'the hashes are right, but the body is none of this format')

    def take(self, frame):
        self.head, self.hashes[frame.seq] = frame, frame.hash
        read = not frame.redacted and re.match('(turn|step)/|redaction$|log/recovered$', frame.type)
        data = data_of(frame) if read else None
        data = data if isinstance(data, dict) else {}  # Users may give any shape.
        if frame.seq == 0: self.extra = frame.extra
        if frame.redacted: self.redacted[frame.seq] = frame.type
        elif frame.type == 'redaction': self.authorised.add(data['seq'])
        elif frame.type == 'log/recovered': self.recovered.append(data)
        if frame.type == 'turn/start': self.turn = data.get('turn', '?')
        if frame.type == 'turn/end': self.turn = None
        if frame.type == 'step/start': self.steps[data.get('id')] = True
        if frame.type == 'step/end' and self.steps.pop(data.get('id'), None) is None: self.ended_unseen += 1  # Redacted.
        for ref in refs_of(frame):
            answer = check_tree(ref[2], self.get, self.nodes) if ref[4] == 'tree' else self.check(ref)
            self.unread += answer == 'not checked'
            if answer in ('missing', 'damaged'):
                self.log.problem('object', frame.seq, f'object {ref[2]}, or one below it, is {answer}')

    def check(self, ref):
        self.answers[ref[2]] = self.answers.get(ref[2]) or check_value(ref, self.get)
        return self.answers[ref[2]]

    def check_redactions(self):
        for seq, kind in self.redacted.items():
            if kind in ('redaction', 'writer/open', 'log/recovered'):
                self.log.problem('redaction', seq, f'the body of {kind} must stay')
            elif seq not in self.authorised:
                self.log.problem('redaction', seq, 'the body is gone, and no redaction event names it')
        for seq in sorted(self.authorised & set(self.hashes) - set(self.redacted)):
            self.incomplete.append(f'a redaction event names seq {seq}, whose body is still there')

    def check_heads(self):
        other = self.noted and 0 in self.hashes and self.noted['run'] != self.hashes[0]
        if other: self.log.problem('identity', 0, f"the store's log has another run under this id: {self.noted['run']}")
        for who, head in (("the store's log", None if other else self.noted), ('the head given', self.given)):
            if head and self.hashes.get(head['seq']) != head['hash']:
                what = 'is cut' if not self.head or head['seq'] > self.head.seq else 'is another'
                self.log.problem('head', head['seq'], f'{who} names {head["seq"]}:{head["hash"]}, and the log {what}')

    def check_parent(self):
        try: link = json.loads(b'{' + self.extra[1:] + b'}').get('parent')
        except ValueError: link = None  # Only where frame 0 is damaged, which was said.
        parent = link and self.store.ids.get(link['run'])
        if parent and link['hash'] not in Log(self.store.places.get(parent, ''), 'log').hashes_at(link['seq']):
            self.log.problem('parent', 0, f'{parent} has another frame at seq {link["seq"]}, where this run begins')
        if link and not parent and link['kind'] == 'fork':
            self.incomplete.append(f'its parent {link["run"]} is not in this store')

    def report(self):
        """What `daglog verify --json` says of a run, under the same names."""
        log, head, incomplete = self.log, self.head, self.incomplete[:]
        objects = len(self.nodes) + list(self.answers.values()).count('whole')
        if self.unread: incomplete.append(f'objects not checked: {self.unread} values (this Python cannot unfold their blocks)')
        if self.turn is not None: incomplete.append(f'turn {self.turn} is open')
        if len(self.steps) > self.ended_unseen: incomplete.append(f'steps open: {", ".join(map(str, self.steps))}')
        if log.torn: incomplete.append(log.torn)
        level = 'anchored' if self.given else 'head-log' if self.noted else 'self-consistent'
        return {'run': self.id, 'ok': not log.problems, 'level': level if head and not log.problems else 'none',
                'events': len(self.hashes), 'objects': objects,
                'head': head and {'seq': head.seq, 'hash': head.hash},
                'coveredSeq': (self.given or self.noted or {'seq': -1})['seq'], 'problems': log.problems,
                'incomplete': incomplete, 'redacted': list(self.redacted), 'stray': self.unexplained()}

    def unexplained(self):
        """Bytes after a segment's counted end. Those that a log/recovered names are evidence of a crash, not stray."""
        for place in self.log.stray:
            for event in self.recovered:
                start, size = event['offset'], event['bytes']
                if (event['segment'], start) != (place['segment'], place['offset']): continue
                if sha256(self.log.segments[place['segment']][start:start + size]) == event['sha256']:
                    place.update(offset=start + size, bytes=place['bytes'] - size)
        return [place for place in self.log.stray if place['bytes'] > 0]

def line_of(report, name):
    """One line for people."""
    word, head = 'damaged' if not report['ok'] else 'incomplete' if report['incomplete'] else 'ok', report.get('head')
    wrong = [f'{p["kind"]} at seq {p["seq"]}' + (f' (segment {p["segment"]}, byte {p["byte"]})' if 'byte' in p else '')
             + f': {p["reason"]}' for p in report['problems'][:20]]
    more = [f'{key}: {report[key]}' for key in ('redacted', 'stray') if report.get(key)]
    words = [word, name, report.get('level'), f'{report["events"]} events', head and f'head {head["seq"]}:{head["hash"]}']
    return '  '.join(text for text in [*words, *wrong, *report['incomplete'], *more] if text)

def main():
    parser = argparse.ArgumentParser(description='Verifies a daglog store.')
    parser.add_argument('store')
    parser.add_argument('--run', help='this run only')
    parser.add_argument('--head', help='SEQ:HASH, a head of that run that was kept elsewhere')
    parser.add_argument('--json', action='store_true')
    args = parser.parse_args()
    given = re.fullmatch('([0-9]+):([0-9a-f]{64})', args.head or '')
    if args.head and not (given and args.run): parser.error('--head takes SEQ:HASH, a hash of 64 digits, and needs --run')
    sys.setrecursionlimit(20_000)  # Values inside a body may be nested some thousand deep.
    store = Store(args.store)
    ids = sorted({*store.places, *store.heads})
    if args.run and args.run not in ids: sys.exit(f'no run {args.run} in {args.store}')
    given = given and {'seq': int(given[1]), 'hash': given[2]}
    runs = [Run(store, run_id, given).report() for run_id in ids if args.run in (None, run_id)]
    ok = all(report['ok'] for report in [store.report, *runs])
    complete = not any(report['incomplete'] for report in [store.report, *runs])
    facts = {'schema': 'daglog.verify/1', 'ok': ok, 'complete': complete, 'storeLog': store.report, 'runs': runs}
    if args.json: print(json.dumps(facts))
    else: print(line_of(store.report, "(the store's log)"), *(line_of(report, report['run']) for report in runs), sep='\n')
    sys.exit(3 if not ok else 0 if complete else 5)

if __name__ == '__main__':
    main()
