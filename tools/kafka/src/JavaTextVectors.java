import com.fasterxml.jackson.core.io.schubfach.DoubleToDecimal;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.utils.AppInfoParser;

/**
 * Prints what Java's own text functions give for odd texts, one JSON object per line after a header line.
 * `characters`: which single characters have a property. `numbers`: the parsers. `parts`: length, trim, split and Kafka's
 * lists. `doubles`: Double.toString of this JDK, and the shortest form that JDK 19 and later give (as Jackson has it, too).
 * `bytes`: the text of bytes that are no UTF-8 (Readable.readString).
 */
public class JavaTextVectors {
    private static final ObjectMapper JSON = JsonMapper.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();
    private static final int[] ODD_SPACES = {0x7f, 0x85, 0xa0, 0x1680, 0x180e, 0x2000, 0x2009, 0x200b, 0x2028, 0x2029, 0x202f,
        0x205f, 0x3000, 0xfeff};
    private static final int[] SUPPLEMENTARY_ZEROS = {0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450,
        0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50, 0x1d7ce,
        0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0};

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> header = new LinkedHashMap<>();
        header.put("jdk", System.getProperty("java.version"));
        header.put("kafka_version", AppInfoParser.getVersion());
        print(header);
        switch (arguments[0]) {
            case "characters" -> printCharacters();
            case "numbers" -> printNumbers();
            case "parts" -> printParts();
            case "doubles" -> printDoubles();
            case "bytes" -> printBytes();
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    private static void print(Map<String, Object> row) throws Exception {
        System.out.println(JSON.writeValueAsString(row));
    }

    private static <T> T orNull(Function<String, T> parser, String text) {
        try {
            return parser.apply(text);
        } catch (NumberFormatException e) {
            return null;
        }
    }

    private static void printCharacters() throws Exception {
        printValues("int", Character.MAX_CODE_POINT, c -> orNull(Integer::parseInt, Character.toString(c)));
        printValues("double", Character.MAX_VALUE, c -> {
            Double parsed = orNull(Double::parseDouble, Character.toString(c));
            return parsed == null ? null : parsed.intValue();
        });
        printValues("hex", Character.MAX_VALUE, c -> orNull(text -> Integer.parseInt(text, 16), "0" + (char) c));
        for (char letter = 'a'; letter <= 'z'; letter++) {
            String word = "" + letter;
            printProperty("equals " + word, c -> Character.toString(c).equalsIgnoreCase(word));
        }
        printProperty("trimmed", c -> Character.toString(c).trim().isEmpty());
        printProperty("around comma", c -> c != ',' && list("a" + (char) c + "," + (char) c + "b").equals(List.of("a", "b")));
    }

    /** For each value the characters that have it. */
    private static void printValues(String name, int last, IntFunction<Integer> valueOf) throws Exception {
        Map<Integer, List<Integer>> characters = new TreeMap<>();
        for (int character = 0; character <= last; character++) {
            Integer value = valueOf.apply(character);
            if (value != null) {
                characters.computeIfAbsent(value, key -> new ArrayList<>()).add(character);
            }
        }
        for (Map.Entry<Integer, List<Integer>> entry : characters.entrySet()) {
            printRow(name + " " + entry.getKey(), entry.getValue());
        }
    }

    private static void printProperty(String property, IntPredicate holds) throws Exception {
        printRow(property, IntStream.rangeClosed(0, Character.MAX_VALUE).filter(holds).boxed().toList());
    }

    private static void printRow(String property, List<Integer> characters) throws Exception {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("property", property);
        row.put("characters", characters);
        print(row);
    }

    private static void printNumbers() throws Exception {
        for (String text : numbers()) {
            Map<String, Object> row = new LinkedHashMap<>();
            Double parsed = orNull(Double::parseDouble, text);
            row.put("text", text);
            row.put("short", orNull(Short::parseShort, text));
            row.put("int", orNull(Integer::parseInt, text));
            row.put("long", orNull(Long::parseLong, text));
            row.put("double", parsed == null ? null : Long.toHexString(Double.doubleToLongBits(parsed)));
            print(row);
        }
    }

    private static Set<String> numbers() {
        Set<String> texts = new LinkedHashSet<>(List.of("", "+", "-", "+-1", "--1", "0", "-0", "+0", "007", "+5", "5+", "1_000",
            "1,000", "1 000", "0x10", "0b1", "1L", "1l", "1e3", "1.", ".", ".5", "5.", "-.5", "+.5e1", ".e1", "e1", "1e", "1e+", "1e-",
            "1e+5", "1E-5", "1e5.0", "1.2.3", "5e-1", "1f", "1F", "1d", "1D", "1df", "1fd", "1ef", "1e1f", "d", "f", ".f", "0f", "NaN",
            "+NaN", "-NaN", "nan", "NAN", "NaNd", "NaN ", " NaN", "Infinity", "-Infinity", "+Infinity", "infinity", "inf", "Inf",
            "Infinityd", "Infinit", "N", "I", "true", "null", "1e400", "-1e400", "1e-400", "-1e-400", "1e2147483647",
            "1e2147483648", "1e-2147483649", "1e99999999999999999999", "0e99999999999999999999", "-0e-99999999999999999999",
            "2.2250738585072012e-308", "2.2250738585072011e-308", "2.2250738585072014E-308", "4.9e-324", "2.4703282292062327e-324",
            "2.4703282292062328e-324", "1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308",
            "9007199254740993", "9007199254740992.5", "0.1", "0.30000000000000004", "123456789012345678901234567890",
            "0x1p-1", "0X1P-1", "0x1p", "0x1", "0x1.", "0x.p1", "0x1.p1", "0x.8p1", "0x1.8p1d", "0x1.8p1f", "0x1.8fp1", "0xdp0",
            "0xdp0d", "-0x1p0", "+0x1p0", "0x1p+0", "0x1p1.0", "0xgp0", "0x1.fffffffffffffp1023", "0x1.fffffffffffff8p1023",
            "0x1.fffffffffffff7p1023", "0x1p1024", "0x1p-1074", "0x1p-1075", "0x1.8p-1075", "0x1.0000000000001p-1075",
            "0x0.0000000000001p-1022", "0x1.00000000000008p0", "0x1.00000000000018p0", "0x1.0000000000000800000001p0",
            "0x1.fffffffep-1050", "0x0p99999999999", "-0x0p0", "0x1p99999999999", "-0x1p99999999999", "0x1p-99999999999",
            "0x1p2147483647", "0x1p2147483648", "0x1p-2147483648", "0x00000000000000000001p0", "0x1p\u0661", "1\u0660", "1e\u0661"));
        addBounds(texts);
        addDigitBlocks(texts);
        for (int space = 0; space <= 0x20; space++) {
            addSpaced(texts, Character.toString(space));
        }
        for (int space : ODD_SPACES) {
            addSpaced(texts, Character.toString(space));
        }
        addLong(texts);
        addRandom(texts, new Random(1233));
        addMidpoints(texts, new Random(19931));
        return texts;
    }

    private static void addBounds(Set<String> texts) {
        for (int bits : new int[] {7, 8, 15, 16, 31, 32, 53, 63, 64}) {
            BigDecimal bound = BigDecimal.valueOf(2).pow(bits);
            for (int step = -2; step <= 2; step++) {
                String text = bound.add(BigDecimal.valueOf(step)).toPlainString();
                texts.addAll(List.of(text, "-" + text, "+" + text, "000" + text, "-0" + text, text + "0", text + ".0"));
            }
        }
    }

    private static void addDigitBlocks(Set<String> texts) {
        List<Integer> zeros = new ArrayList<>();
        for (int character = 0; character <= 0xffff; character++) {
            if (Character.digit((char) character, 10) == 0) {
                zeros.add(character);
            }
        }
        for (int zero : SUPPLEMENTARY_ZEROS) {
            zeros.add(zero);
        }
        for (int zero : zeros) {
            IntFunction<String> digit = value -> Character.toString(zero + value);
            String number = digit.apply(1) + digit.apply(0) + digit.apply(9);
            texts.addAll(List.of(number, "-" + number, "+" + number, "7" + number, number + "7", number + ".5", digit.apply(3),
                digit.apply(0) + digit.apply(4), digit.apply(9) + "e1", Character.toString(zero - 1), digit.apply(10),
                digit.apply(3) + digit.apply(2) + digit.apply(7) + digit.apply(6) + digit.apply(8)));
        }
        for (String text : List.of("\u00b2", "\u00bd", "\u2167", "\u2460", "\u4e00", "\uff0b5", "\uff0d5", "\u22125", "\uff21", "\ud800", "5\udc00")) {
            texts.add(text);
        }
    }

    private static void addSpaced(Set<String> texts, String space) {
        texts.addAll(List.of(space, space + "5", "5" + space, space + "5" + space, "5" + space + "5", "-" + space + "5", space + "-.5e1" + space));
    }

    private static void addLong(Set<String> texts) {
        String zeros = "0".repeat(400);
        texts.addAll(List.of("0." + zeros + "1e401", "0." + zeros + "1e402", "1" + zeros + "e-400", "1" + zeros + "e-401", "1" + zeros,
            "0." + zeros + "1", zeros + "5", zeros, "-" + zeros + "2147483648", "9".repeat(1200), "9".repeat(1200) + "e-1200",
            "0x" + "0".repeat(300) + "1p0", "0x1" + "0".repeat(300) + "p-1200", "0x0." + "0".repeat(300) + "1p1204",
            "1." + "0".repeat(1200) + "1", "9007199254740993." + "0".repeat(1200) + "1", "0".repeat(5000) + "7", "8".repeat(5000)));
    }

    private static void addRandom(Set<String> texts, Random random) {
        String[] pieces = {"0", "1", "5", "9", "12", "+", "-", ".", "e", "E", "f", "d", "x", "0x", "p", "P", "a", "_", " ", "NaN", "Infinity",
            "\u0665", "\uff11", "\n", "e-3", "p+2"};
        for (int i = 0; i < 2500; i++) {
            StringBuilder text = new StringBuilder();
            for (int length = 1 + random.nextInt(6); length > 0; length--) {
                text.append(pieces[random.nextInt(pieces.length)]);
            }
            texts.add(text.toString());
        }
        for (int i = 0; i < 800; i++) {
            double value = Double.longBitsToDouble(random.nextLong());
            texts.add(Double.toString(value));
            texts.add(Double.toHexString(value));
            texts.add(random.nextInt(1000) + "." + random.nextInt(100000) + "e" + (random.nextInt(700) - 350));
            texts.add("0x" + Long.toHexString(random.nextLong()) + "." + Long.toHexString(random.nextLong()) + "p" + (random.nextInt(2400) - 1200));
            texts.add(Integer.toString(random.nextInt()));
            texts.add(Long.toString(random.nextLong()));
        }
    }

    /** Decimals half-way between two neighbours, and a hair beside: where a careless parser rounds wrong. */
    private static void addMidpoints(Set<String> texts, Random random) {
        for (int i = 0; i < 60; i++) {
            double value = Math.abs((random.nextDouble() + 0.1) * Math.pow(10, random.nextInt(60) - 30));
            BigDecimal middle = new BigDecimal(value).add(new BigDecimal(Math.nextUp(value))).divide(BigDecimal.valueOf(2));
            texts.addAll(List.of(middle.toString(), middle.toPlainString() + (middle.scale() > 0 ? "1" : ".1")));
        }
    }

    private static void printParts() throws Exception {
        for (String text : parts()) {
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("text", text);
            row.put("length", text.length());
            row.put("trim", text.trim());
            row.put("split", text.split(","));
            row.put("list", list(text));
            print(row);
        }
    }

    private static List<?> list(String text) {
        return (List<?>) ConfigDef.parseType("key", text, ConfigDef.Type.LIST);
    }

    private static Set<String> parts() {
        Set<String> texts = new LinkedHashSet<>(List.of("", ",", ",,", "a", "a,", "a,,", ",a", "a,b", "a,,b", " a , b ", "a ,b", " ,", ", ",
            " , , ", "\ud83d\ude00", "\ud83d", "\ude00", "\ude00\ud83d", "\u00e9\ud83d\ude00,\ud83d", "\uffff\ud800\udc00"));
        for (int space = 0; space <= 0x20; space++) {
            addAround(texts, Character.toString(space));
        }
        for (int space : ODD_SPACES) {
            addAround(texts, Character.toString(space));
        }
        Random random = new Random(11);
        String[] pieces = {"a", "b", ",", ",", ",", " ", "\t", "\u000b", "\f", "\r", "\n", "\u0001", "\u001f", "\u00a0", "\u3000", "\u0085", "\ud83d\ude00", "\ud83d"};
        for (int i = 0; i < 1500; i++) {
            StringBuilder text = new StringBuilder();
            for (int length = 1 + random.nextInt(10); length > 0; length--) {
                text.append(pieces[random.nextInt(pieces.length)]);
            }
            texts.add(text.toString());
        }
        return texts;
    }

    private static void addAround(Set<String> texts, String space) {
        texts.addAll(List.of(space, space + "a" + space, "a" + space + ",b", "a," + space + "b", "a," + space, space + ",a", "," + space + ","));
    }

    private static void printDoubles() throws Exception {
        for (double value : doubles()) {
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("bits", Long.toHexString(Double.doubleToLongBits(value)));
            row.put("jdk", Double.toString(value));
            row.put("shortest", DoubleToDecimal.toString(value));
            print(row);
        }
    }

    private static Set<Double> doubles() {
        Set<Double> values = new LinkedHashSet<>(List.of(0.0, -0.0, 1.0, -1.0, 0.5, 0.8, 0.1, 100.0, 0.001, 0.00099999, 9999999.0, 9999999.5,
            1.0E7, 1.0E7 + 1, 1234567.0, 123456.789, 2.0E-3, 1.0E23, 2.0E23, 2.2250738585072014E-308, 1.7976931348623157E308, 4.9E-324,
            9.9E-324, 1.5E-323, Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, 9.223372036854776E18, 0.2, 0.95, 0.99));
        for (int exponent = -1074; exponent <= 1023; exponent++) {
            double power = Math.scalb(1.0, exponent);
            values.add(power);
            if (exponent % 4 == 0) {
                values.add(Math.nextUp(power));
                values.add(Math.nextDown(power));
            }
        }
        for (int exponent = -323; exponent <= 308; exponent++) {
            values.add(Double.parseDouble("1e" + exponent));
            values.add(Double.parseDouble("5e" + exponent));
        }
        Random random = new Random(4511638);
        for (int i = 0; i < 800; i++) {
            values.add(Double.longBitsToDouble(random.nextLong()));
            values.add(random.nextInt(100000) / 1000.0);
            values.add((double) random.nextInt());
        }
        return values;
    }

    private static void printBytes() throws Exception {
        for (byte[] bytes : byteStrings()) {
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("bytes", HexFormat.of().formatHex(bytes));
            row.put("text", new String(bytes, StandardCharsets.UTF_8));
            print(row);
        }
    }

    /** Every first byte before every kind of second, third and fourth; then sequences of interesting bytes. */
    private static List<byte[]> byteStrings() {
        int[] following = {0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc2, 0xe0, 0xed, 0xf0, 0xff};
        List<byte[]> found = new ArrayList<>();
        for (int first = 0x80; first <= 0xff; first++) {
            found.add(new byte[] {(byte) first});
            for (int second : following) {
                found.add(new byte[] {(byte) first, (byte) second});
            }
        }
        int[] leading = {0xc1, 0xc2, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5};
        for (int first : leading) {
            for (int second : following) {
                for (int third : following) {
                    found.add(new byte[] {'a', (byte) first, (byte) second, (byte) third});
                }
            }
        }
        Random random = new Random(190);
        for (int i = 0; i < 1000; i++) {
            byte[] bytes = new byte[1 + random.nextInt(12)];
            for (int place = 0; place < bytes.length; place++) {
                int[] among = random.nextBoolean() ? leading : following;
                bytes[place] = (byte) among[random.nextInt(among.length)];
            }
            found.add(bytes);
        }
        return found;
    }
}
