package io.skiff.sample;

import android.app.Activity;
import android.content.Intent;
import android.graphics.Bitmap;
import android.graphics.BitmapFactory;
import android.os.Bundle;
import android.view.View;
import android.widget.Button;
import android.widget.CompoundButton;
import android.widget.ImageView;
import android.widget.LinearLayout;
import android.widget.ScrollView;
import android.widget.Switch;
import android.widget.TextView;
import io.skiff.BitmapPixels;
import io.skiff.Model;
import io.skiff.SkiffException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Shows a picture, what the model sees in it, and how long each backend takes. */
public final class ClassifyActivity extends Activity {
  private static final int PICK = 1;
  /** Larger pictures are sampled down while they are decoded: the model sees 32 x 32 pixels. */
  private static final int MAX_SIDE = 512;

  /** All of Skiff happens here; the two fields below are this thread's. */
  private final ExecutorService worker = Executors.newSingleThreadExecutor();
  private Model model;
  private Comparison comparison;

  private ImageView view;
  private TextView text;
  private Switch gpu;
  private Bitmap picture;

  @Override
  protected void onCreate(Bundle state) {
    super.onCreate(state);
    showWidgets();
    worker.execute(new Runnable() {
      @Override
      public void run() {
        open();
      }
    });
    showBundledPicture();
  }

  private void showWidgets() {
    LinearLayout column = new LinearLayout(this);
    column.setOrientation(LinearLayout.VERTICAL);
    view = new ImageView(this);
    view.setAdjustViewBounds(true);
    text = new TextView(this);
    gpu = new Switch(this);
    gpu.setText(R.string.gpu);
    gpu.setOnCheckedChangeListener(new CompoundButton.OnCheckedChangeListener() {
      @Override
      public void onCheckedChanged(CompoundButton button, boolean checked) {
        classify();
      }
    });
    column.addView(button(R.string.pick, new View.OnClickListener() {
      @Override
      public void onClick(View clicked) {
        Intent pick =
            new Intent(Intent.ACTION_GET_CONTENT).setType("image/*").addCategory(Intent.CATEGORY_OPENABLE);
        startActivityForResult(pick, PICK);
      }
    }));
    column.addView(button(R.string.bundled, new View.OnClickListener() {
      @Override
      public void onClick(View clicked) {
        showBundledPicture();
      }
    }));
    column.addView(gpu);
    column.addView(text);
    column.addView(view);
    ScrollView scroll = new ScrollView(this);
    scroll.addView(column);
    setContentView(scroll);
  }

  private Button button(int label, View.OnClickListener action) {
    Button button = new Button(this);
    button.setText(label);
    button.setOnClickListener(action);
    return button;
  }

  @Override
  protected void onActivityResult(int request, int result, Intent data) {
    if (request != PICK || result != RESULT_OK || data == null || data.getData() == null)
      return;
    try {
      InputStream content = getContentResolver().openInputStream(data.getData());
      if (content == null)
        throw new IOException("the picture's owner gives nothing");
      show(decode(content));
    } catch (IOException e) {
      text.setText(e.toString());
    }
  }

  private void showBundledPicture() {
    try {
      show(decode(getAssets().open("picture.png")));
    } catch (IOException e) {
      text.setText(e.toString());
    }
  }

  private static Bitmap decode(InputStream content) throws IOException {
    byte[] bytes = readAll(content);
    BitmapFactory.Options options = new BitmapFactory.Options();
    options.inJustDecodeBounds = true;
    BitmapFactory.decodeByteArray(bytes, 0, bytes.length, options);
    options.inJustDecodeBounds = false;
    options.inSampleSize = Math.max(1, Math.max(options.outWidth, options.outHeight) / MAX_SIDE);
    Bitmap bitmap = BitmapFactory.decodeByteArray(bytes, 0, bytes.length, options);
    if (bitmap == null)
      throw new IOException("this is no picture that Android can decode");
    return bitmap;
  }

  private void show(Bitmap bitmap) {
    picture = bitmap;
    view.setImageBitmap(bitmap);
    classify();
  }

  private void classify() {
    final Bitmap shown = picture;
    final boolean onGpu = gpu.isChecked();
    if (shown == null)
      return;
    worker.execute(new Runnable() {
      @Override
      public void run() {
        if (comparison == null)
          return;
        try {
          say(comparison.classify(BitmapPixels.of(shown), onGpu));
        } catch (IllegalArgumentException | SkiffException e) {
          say(e.getMessage());
        }
      }
    });
  }

  private void open() {
    try {
      // An asset lies in the APK at any multiple of 4 bytes, so it is read rather than mapped. A large model
      // is better copied to getNoBackupFilesDir() once, and opened from there by its path.
      byte[] bytes = readAll(getAssets().open("characters.skiff"));
      ByteBuffer direct = ByteBuffer.allocateDirect(bytes.length);
      direct.put(bytes);
      direct.flip();
      model = Model.open(direct);
      comparison = new Comparison(model);
    } catch (IOException | RuntimeException | UnsatisfiedLinkError e) {
      say(e.toString());
    }
  }

  private static byte[] readAll(InputStream content) throws IOException {
    try (InputStream input = content) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      byte[] block = new byte[1 << 16];
      for (int got = input.read(block); got >= 0; got = input.read(block)) bytes.write(block, 0, got);
      return bytes.toByteArray();
    }
  }

  private void say(final String message) {
    runOnUiThread(new Runnable() {
      @Override
      public void run() {
        text.setText(message);
      }
    });
  }

  @Override
  protected void onDestroy() {
    worker.execute(new Runnable() {
      @Override
      public void run() {
        if (comparison != null)
          comparison.close();
        if (model != null)
          model.close();
      }
    });
    worker.shutdown();
    super.onDestroy();
  }
}
